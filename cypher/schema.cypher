// Baseline of the schema. A database runs these statements once. Add changes of indexes and constraints to
// migrations.cypher as `2xx_name`. Vector indexes of spaces are in spaces.cypher.

// name: ontology_name
// The name is the id of an ontology.
CREATE CONSTRAINT ontology_name IF NOT EXISTS FOR (o:Ontology) REQUIRE o.name IS UNIQUE

// name: document_id
// Without this constraint, MERGE created 84 nodes for 60 ids under load.
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (d:Document) REQUIRE d.document_id IS UNIQUE

// name: source_id
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (s:Source) REQUIRE s.source_id IS UNIQUE

// name: chunk_id
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (c:Chunk) REQUIRE c.chunk_id IS UNIQUE

// name: job_id
CREATE CONSTRAINT job_id IF NOT EXISTS FOR (j:Job) REQUIRE j.job_id IS UNIQUE

// name: job_unique_key
// One unfinished job per key. Finished jobs have no key.
CREATE CONSTRAINT job_unique_key IF NOT EXISTS FOR (j:Job) REQUIRE j.unique_key IS UNIQUE

// name: embedding_space_slug
// The slug is the id of a space.
CREATE CONSTRAINT embedding_space_slug IF NOT EXISTS FOR (e:EmbeddingSpace) REQUIRE e.slug IS UNIQUE

// name: document_by_name
// Lists of documents by ontology and name.
CREATE INDEX document_by_name IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.document)

// name: source_by_place
// Neighbours: a range of paragraphs in a document.
CREATE INDEX source_by_place IF NOT EXISTS FOR (s:Source) ON (s.document_id, s.paragraph)

// name: job_by_state
// Queued and running jobs.
CREATE INDEX job_by_state IF NOT EXISTS FOR (j:Job) ON (j.state, j.created_at)

// name: source_by_reading_order
// Backfill in reading order, because a chunk may cover several sources.
CREATE INDEX source_by_reading_order IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.document_id, s.paragraph)

// name: cached_vector_key
// Key of a cached vector: hash of the text and its space.
CREATE CONSTRAINT cached_vector_key IF NOT EXISTS FOR (v:CachedVector) REQUIRE v.key IS UNIQUE

// name: cached_vector_by_use
// Deletion of the least recently used vectors.
CREATE INDEX cached_vector_by_use IF NOT EXISTS FOR (v:CachedVector) ON (v.used_at)

// name: cached_context_key
// Key of a cached context: hash of the request to the language model.
CREATE CONSTRAINT cached_context_key IF NOT EXISTS FOR (x:CachedContext) REQUIRE x.key IS UNIQUE

// name: cached_context_by_use
// Deletion of the least recently used contexts.
CREATE INDEX cached_context_by_use IF NOT EXISTS FOR (x:CachedContext) ON (x.used_at)

// name: job_by_queue
// Queue of jobs, longest wait first.
CREATE INDEX job_by_queue IF NOT EXISTS FOR (j:Job) ON (j.state, j.queued_at)

// name: job_by_parent
// Parts of a job.
CREATE INDEX job_by_parent IF NOT EXISTS FOR (j:Job) ON (j.parent_id, j.state)

// name: worker_name
// The name is the id of a worker.
CREATE CONSTRAINT worker_name IF NOT EXISTS FOR (w:Worker) REQUIRE w.name IS UNIQUE

// name: kept_answer_key
// One of several concurrent requests with the same key runs.
CREATE CONSTRAINT kept_answer_key IF NOT EXISTS FOR (a:KeptAnswer) REQUIRE a.key IS UNIQUE

// name: folder_id
// One registration per folder and ontology. The id is a hash of both.
CREATE CONSTRAINT folder_id IF NOT EXISTS FOR (f:Folder) REQUIRE f.folder_id IS UNIQUE

// name: document_by_folder
// Documents of a synced folder, by page.
CREATE INDEX document_by_folder IF NOT EXISTS FOR (d:Document) ON (d.folder_id, d.document_id)

// name: job_by_end
// Recently ended jobs.
CREATE INDEX job_by_end IF NOT EXISTS FOR (j:Job) ON (j.finished_at)

// name: source_words
// Full text of sources, headings, titles and names of documents. `scope` has one token for the ontology and one for
// the document, so that filters run inside the index.
CREATE FULLTEXT INDEX source_words IF NOT EXISTS
FOR (s:Source) ON EACH [s.full_text, s.heading, s.title, s.document, s.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: concept_id
// Without this constraint, concurrent MERGE creates several nodes for a concept.
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (c:Concept) REQUIRE c.concept_id IS UNIQUE

// name: concept_name_id
// One concept per name and ontology. The id is a hash of both.
CREATE CONSTRAINT concept_name_id IF NOT EXISTS FOR (n:ConceptName) REQUIRE n.name_id IS UNIQUE

// name: instance_id
// One node per quote, source and concept, also after repeated extraction.
CREATE CONSTRAINT instance_id IF NOT EXISTS FOR (i:Instance) REQUIRE i.instance_id IS UNIQUE

// name: relation_id
// One relationship per statement of a source, also after repeated extraction.
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR ()-[r:RELATED_TO]-() REQUIRE r.relation_id IS UNIQUE

// name: relation_by_source
// Deletion of relationships with their source.
CREATE INDEX relation_by_source IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.source_id)

// name: concept_by_ontology
// Concepts of an ontology by id.
CREATE INDEX concept_by_ontology IF NOT EXISTS FOR (c:Concept) ON (c.ontology, c.concept_id)

// name: concept_words
// Full text of labels, search terms and descriptions of concepts. `scope` has one token for the ontology.
CREATE FULLTEXT INDEX concept_words IF NOT EXISTS
FOR (c:Concept) ON EACH [c.label, c.search_terms, c.description, c.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: job_by_rank
// Queue of jobs by rank, longest wait first.
CREATE INDEX job_by_rank IF NOT EXISTS FOR (j:Job) ON (j.state, j.rank, j.queued_at)

// name: job_by_ontology
// Last jobs of an ontology, read for each stored document. Ended jobs are kept for days.
CREATE INDEX job_by_ontology IF NOT EXISTS FOR (j:Job) ON (j.ontology, j.kind)

// name: source_unembedded
// Sources that may lack a vector, among many that have one.
CREATE INDEX source_unembedded IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unembedded, s.document_id, s.paragraph)

// name: source_unread
// Sources that may lack an extraction, among many that have one.
CREATE INDEX source_unread IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unread, s.document_id, s.paragraph)

// name: document_by_text
// Documents of an ontology with the same text, by name.
CREATE INDEX document_by_text IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.text_hash, d.document)

// name: waiting_document
// A pending document has the id of the later document.
CREATE CONSTRAINT waiting_document IF NOT EXISTS FOR (w:WaitingDocument) REQUIRE w.document_id IS UNIQUE

// name: waiting_by_name
// Lists and counts of pending documents. Rejected ones have no entry.
CREATE INDEX waiting_by_name IF NOT EXISTS FOR (w:WaitingDocument) ON (w.awaits, w.document)

// name: waiting_by_folder
// Pending and rejected documents of a folder.
CREATE INDEX waiting_by_folder IF NOT EXISTS FOR (w:WaitingDocument) ON (w.folder_id, w.document_id)

// name: blob_key
// The key is a hash of the content.
CREATE CONSTRAINT blob_key IF NOT EXISTS FOR (b:Blob) REQUIRE b.key IS UNIQUE

// name: blob_hold_id
CREATE CONSTRAINT blob_hold_id IF NOT EXISTS FOR (h:BlobHold) REQUIRE h.hold_id IS UNIQUE

// name: image_by_document
CREATE INDEX image_by_document IF NOT EXISTS FOR (s:Image) ON (s.document_id)

// name: image_by_ontology
CREATE INDEX image_by_ontology IF NOT EXISTS FOR (s:Image) ON (s.ontology)

// name: image_by_id
// Pending images of an ontology, by id.
CREATE INDEX image_by_id IF NOT EXISTS FOR (s:Image) ON (s.ontology, s.source_id)

// name: relation_type_id
// One node per type and ontology.
CREATE CONSTRAINT relation_type_id IF NOT EXISTS FOR (t:RelationType) REQUIRE t.type_id IS UNIQUE

// name: relation_type_by_ontology
// Pending types of an ontology, by id.
CREATE INDEX relation_type_by_ontology IF NOT EXISTS FOR (t:RelationType) ON (t.ontology, t.type_id)

// name: relation_by_ontology
// Pending relationships of an ontology, by id.
CREATE INDEX relation_by_ontology IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.ontology, r.relation_id)

// name: relation_by_type
// Relationships of a type.
CREATE INDEX relation_by_type IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.type_id)

// name: loose_blob_by_key
// Blobs that may be unused, in the order of their check.
CREATE INDEX loose_blob_by_key IF NOT EXISTS FOR (b:LooseBlob) ON (b.key)

// name: proposal_id
// One proposal per pair, which identifies rejected pairs.
CREATE CONSTRAINT proposal_id IF NOT EXISTS FOR (p:Proposal) REQUIRE p.proposal_id IS UNIQUE

// name: proposal_by_score
// Lists of proposals by state and score, and deletion of the weakest.
CREATE INDEX proposal_by_score IF NOT EXISTS FOR (p:Proposal) ON (p.ontology, p.state, p.score)

// name: concept_merge_id
CREATE CONSTRAINT concept_merge_id IF NOT EXISTS FOR (m:ConceptMerge) REQUIRE m.merge_id IS UNIQUE

// name: concept_merge_by_pair
// Merges of an ontology, and pairs whose merge was undone.
CREATE INDEX concept_merge_by_pair IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.pair)

// name: community_id
// One node per community and generation.
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (c:Community) REQUIRE (c.generation, c.community_id) IS UNIQUE

// name: community_by_level
// Lists of communities by generation. The level is 0.
CREATE INDEX community_by_level IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.level, c.place)

// name: unlinked_by_ontology
// Pending nodes of an ontology for link proposals, among many of other ontologies.
CREATE INDEX unlinked_by_ontology IF NOT EXISTS FOR (n:Unlinked) ON (n.ontology)

// name: concept_merge_by_undoing
// Undone merges of an ontology, whose pairs stay separate.
CREATE INDEX concept_merge_by_undoing IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.undone_at)

// name: concept_merge_by_kept
// Merges into a concept.
CREATE INDEX concept_merge_by_kept IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.kept_id)

// name: api_key_id
CREATE CONSTRAINT api_key_id IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.key_id IS UNIQUE

// name: key_ring
// One key ring per database.
CREATE CONSTRAINT key_ring IF NOT EXISTS FOR (r:KeyRing) REQUIRE r.ring IS UNIQUE

// name: audit_by_time
// Entries, newest first for lists, oldest first for deletion.
CREATE INDEX audit_by_time IF NOT EXISTS FOR (a:AuditEntry) ON (a.at)

// name: audit_by_key
// Entries of a key, newest first.
CREATE INDEX audit_by_key IF NOT EXISTS FOR (a:AuditEntry) ON (a.key_id, a.at)

// name: audit_id
CREATE CONSTRAINT audit_id IF NOT EXISTS FOR (a:AuditEntry) REQUIRE a.entry_id IS UNIQUE

// name: page_session
// Sessions of the web UI by the hash of the browser's secret.
CREATE CONSTRAINT page_session IF NOT EXISTS FOR (s:PageSession) REQUIRE s.session_hash IS UNIQUE

// name: judgement_id
// One judgement per question and source.
CREATE CONSTRAINT judgement_id IF NOT EXISTS FOR (j:Judgement) REQUIRE j.judgement_id IS UNIQUE

// name: judgement_by_question
// Judgements of a question, and all questions of an ontology.
CREATE INDEX judgement_by_question IF NOT EXISTS FOR (j:Judgement) ON (j.ontology, j.question_id)
