// The baseline of the schema. A database that has it never runs these statements again: put a change of an index or a
// constraint into migrations.cypher, as `2xx_name`. Vector indexes of spaces are in spaces.cypher.

// name: ontology_name
// An ontology's name is its id.
CREATE CONSTRAINT ontology_name IF NOT EXISTS FOR (o:Ontology) REQUIRE o.name IS UNIQUE

// name: document_id
// MERGE without this constraint made 84 nodes of 60 ids under load.
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (d:Document) REQUIRE d.document_id IS UNIQUE

// name: source_id
// Sources are found by id.
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (s:Source) REQUIRE s.source_id IS UNIQUE

// name: chunk_id
// Chunks are found by id.
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (c:Chunk) REQUIRE c.chunk_id IS UNIQUE

// name: job_id
// Jobs are found by id.
CREATE CONSTRAINT job_id IF NOT EXISTS FOR (j:Job) REQUIRE j.job_id IS UNIQUE

// name: job_unique_key
// One unfinished job a key; finished jobs have none.
CREATE CONSTRAINT job_unique_key IF NOT EXISTS FOR (j:Job) REQUIRE j.unique_key IS UNIQUE

// name: embedding_space_slug
// A space's slug is its id.
CREATE CONSTRAINT embedding_space_slug IF NOT EXISTS FOR (e:EmbeddingSpace) REQUIRE e.slug IS UNIQUE

// name: document_by_name
// Documents are listed by ontology and name.
CREATE INDEX document_by_name IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.document)

// name: source_by_place
// Neighbours: the same document, a range of paragraphs.
CREATE INDEX source_by_place IF NOT EXISTS FOR (s:Source) ON (s.document_id, s.paragraph)

// name: job_by_state
// Workers look for queued and running jobs only.
CREATE INDEX job_by_state IF NOT EXISTS FOR (j:Job) ON (j.state, j.created_at)

// name: source_by_reading_order
// Backfill walks an ontology's sources in reading order, for a chunk may cover several.
CREATE INDEX source_by_reading_order IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.document_id, s.paragraph)

// name: cached_vector_key
// Vectors that were made before, by what was embedded in which space.
CREATE CONSTRAINT cached_vector_key IF NOT EXISTS FOR (v:CachedVector) REQUIRE v.key IS UNIQUE

// name: cached_vector_by_use
// The least recently used go first when there are too many.
CREATE INDEX cached_vector_by_use IF NOT EXISTS FOR (v:CachedVector) ON (v.used_at)

// name: cached_context_key
// Contexts that a language model wrote before, by what it was asked.
CREATE CONSTRAINT cached_context_key IF NOT EXISTS FOR (x:CachedContext) REQUIRE x.key IS UNIQUE

// name: cached_context_by_use
// The least recently used contexts go first when there are too many.
CREATE INDEX cached_context_by_use IF NOT EXISTS FOR (x:CachedContext) ON (x.used_at)

// name: job_by_queue
// Workers look at the queue, the longest waiting first.
CREATE INDEX job_by_queue IF NOT EXISTS FOR (j:Job) ON (j.state, j.queued_at)

// name: job_by_parent
// The parts of a job.
CREATE INDEX job_by_parent IF NOT EXISTS FOR (j:Job) ON (j.parent_id, j.state)

// name: worker_name
// A worker's name is its id.
CREATE CONSTRAINT worker_name IF NOT EXISTS FOR (w:Worker) REQUIRE w.name IS UNIQUE

// name: kept_answer_key
// Of requests with one key, however many come at once, one is carried out.
CREATE CONSTRAINT kept_answer_key IF NOT EXISTS FOR (a:KeptAnswer) REQUIRE a.key IS UNIQUE

// name: folder_id
// One registration of a folder in an ontology: the id is made of both.
CREATE CONSTRAINT folder_id IF NOT EXISTS FOR (f:Folder) REQUIRE f.folder_id IS UNIQUE

// name: document_by_folder
// Which documents came from a folder, page by page.
CREATE INDEX document_by_folder IF NOT EXISTS FOR (d:Document) ON (d.folder_id, d.document_id)

// name: job_by_end
// Those who watch are told which jobs have just ended.
CREATE INDEX job_by_end IF NOT EXISTS FOR (j:Job) ON (j.finished_at)

// name: source_words
// Full text over what a source says, its headings, its document's title and name; `scope` holds one token for the
// ontology and one for the document, so that filters run inside the index.
CREATE FULLTEXT INDEX source_words IF NOT EXISTS
FOR (s:Source) ON EACH [s.full_text, s.heading, s.title, s.document, s.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: concept_id
// A concept is one node; without this, concurrent MERGE makes several.
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (c:Concept) REQUIRE c.concept_id IS UNIQUE

// name: concept_name_id
// A name means one concept of its ontology; the id is a hash of both.
CREATE CONSTRAINT concept_name_id IF NOT EXISTS FOR (n:ConceptName) REQUIRE n.name_id IS UNIQUE

// name: instance_id
// The same quote of the same source for the same concept is one node, however often it is extracted.
CREATE CONSTRAINT instance_id IF NOT EXISTS FOR (i:Instance) REQUIRE i.instance_id IS UNIQUE

// name: relation_id
// What a source states of two concepts is one relationship, however often it is extracted.
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR ()-[r:RELATED_TO]-() REQUIRE r.relation_id IS UNIQUE

// name: relation_by_source
// The relationships that a source states go with it.
CREATE INDEX relation_by_source IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.source_id)

// name: concept_by_ontology
// An ontology's concepts in the order of their ids.
CREATE INDEX concept_by_ontology IF NOT EXISTS FOR (c:Concept) ON (c.ontology, c.concept_id)

// name: concept_words
// Full text over what concepts are called and said to be; `scope` holds one token for the ontology.
CREATE FULLTEXT INDEX concept_words IF NOT EXISTS
FOR (c:Concept) ON EACH [c.label, c.search_terms, c.description, c.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: job_by_rank
// Workers look at the queue, the first rank first, in each the longest waiting.
CREATE INDEX job_by_rank IF NOT EXISTS FOR (j:Job) ON (j.state, j.rank, j.queued_at)

// name: job_by_ontology
// The last jobs of an ontology are looked at with each document that is stored; jobs that ended are kept for days.
CREATE INDEX job_by_ontology IF NOT EXISTS FOR (j:Job) ON (j.ontology, j.kind)

// name: source_unembedded
// What may lack its vector is found by this, however much there is that does not.
CREATE INDEX source_unembedded IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unembedded, s.document_id, s.paragraph)

// name: source_unread
// What may not have been read for concepts is found by this, however much there is that was.
CREATE INDEX source_unread IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unread, s.document_id, s.paragraph)

// name: document_by_text
// Documents of an ontology that say the same are found by this, in the order of their names.
CREATE INDEX document_by_text IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.text_hash, d.document)

// name: waiting_document
// A document that waits for approval has the id that it will have.
CREATE CONSTRAINT waiting_document IF NOT EXISTS FOR (w:WaitingDocument) REQUIRE w.document_id IS UNIQUE

// name: waiting_by_name
// What waits is listed and counted by ontology and name; what was rejected has no such entry.
CREATE INDEX waiting_by_name IF NOT EXISTS FOR (w:WaitingDocument) ON (w.awaits, w.document)

// name: waiting_by_folder
// What of a folder waits or was rejected.
CREATE INDEX waiting_by_folder IF NOT EXISTS FOR (w:WaitingDocument) ON (w.folder_id, w.document_id)

// name: blob_key
// A blob is what its bytes say.
CREATE CONSTRAINT blob_key IF NOT EXISTS FOR (b:Blob) REQUIRE b.key IS UNIQUE

// name: blob_hold_id
// What keeps blobs for a while.
CREATE CONSTRAINT blob_hold_id IF NOT EXISTS FOR (h:BlobHold) REQUIRE h.hold_id IS UNIQUE

// name: image_by_document
// The pictures of a document.
CREATE INDEX image_by_document IF NOT EXISTS FOR (s:Image) ON (s.document_id)

// name: image_by_ontology
// The pictures of an ontology.
CREATE INDEX image_by_ontology IF NOT EXISTS FOR (s:Image) ON (s.ontology)

// name: image_by_id
// The pictures of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX image_by_id IF NOT EXISTS FOR (s:Image) ON (s.ontology, s.source_id)

// name: relation_type_id
// A type of relationships is there once in an ontology.
CREATE CONSTRAINT relation_type_id IF NOT EXISTS FOR (t:RelationType) REQUIRE t.type_id IS UNIQUE

// name: relation_type_by_ontology
// The types of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_type_by_ontology IF NOT EXISTS FOR (t:RelationType) ON (t.ontology, t.type_id)

// name: relation_by_ontology
// The relationships of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_by_ontology IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.ontology, r.relation_id)

// name: relation_by_type
// The relationships that are stated with a type.
CREATE INDEX relation_by_type IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.type_id)

// name: loose_blob_by_key
// Blobs that may be unused, in the order in which they are looked at.
CREATE INDEX loose_blob_by_key IF NOT EXISTS FOR (b:LooseBlob) ON (b.key)

// name: proposal_id
// A link is proposed once: a pair that was rejected is known again by this.
CREATE CONSTRAINT proposal_id IF NOT EXISTS FOR (p:Proposal) REQUIRE p.proposal_id IS UNIQUE

// name: proposal_by_score
// The proposals of an ontology by what became of them, in the order of their scores: so they are listed, and the weakest are dropped.
CREATE INDEX proposal_by_score IF NOT EXISTS FOR (p:Proposal) ON (p.ontology, p.state, p.score)

// name: concept_merge_id
// A merge of concepts is recorded once.
CREATE CONSTRAINT concept_merge_id IF NOT EXISTS FOR (m:ConceptMerge) REQUIRE m.merge_id IS UNIQUE

// name: concept_merge_by_pair
// The merges of an ontology, and whether two concepts were parted.
CREATE INDEX concept_merge_by_pair IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.pair)

// name: community_id
// A community is one node of its generation.
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (c:Community) REQUIRE (c.generation, c.community_id) IS UNIQUE

// name: community_by_level
// The communities of an ontology as they are listed: those of a generation, level by level.
CREATE INDEX community_by_level IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.level, c.place)

// name: unlinked_by_ontology
// What is to be looked at for links, by its ontology: elsewhere very many may wait, or for ever.
CREATE INDEX unlinked_by_ontology IF NOT EXISTS FOR (n:Unlinked) ON (n.ontology)

// name: concept_merge_by_undoing
// The merges of an ontology that were taken back: what must stay apart.
CREATE INDEX concept_merge_by_undoing IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.undone_at)

// name: concept_merge_by_kept
// What became part of a concept.
CREATE INDEX concept_merge_by_kept IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.kept_id)

// name: api_key_id
// A key has one id.
CREATE CONSTRAINT api_key_id IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.key_id IS UNIQUE

// name: key_ring
// There is one ring of keys.
CREATE CONSTRAINT key_ring IF NOT EXISTS FOR (r:KeyRing) REQUIRE r.ring IS UNIQUE

// name: audit_by_time
// What was changed is read from the newest on, and forgotten from the oldest.
CREATE INDEX audit_by_time IF NOT EXISTS FOR (a:AuditEntry) ON (a.at)

// name: audit_by_key
// What was changed with one key, from the newest on.
CREATE INDEX audit_by_key IF NOT EXISTS FOR (a:AuditEntry) ON (a.key_id, a.at)

// name: audit_id
// An entry is written once.
CREATE CONSTRAINT audit_id IF NOT EXISTS FOR (a:AuditEntry) REQUIRE a.entry_id IS UNIQUE

// name: community_by_parent
// The parts of a community, counted for each that is listed and listed below it.
CREATE INDEX community_by_parent IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.parent_id)

// name: page_session
// A session of the page is looked up by the hash of what its browser has.
CREATE CONSTRAINT page_session IF NOT EXISTS FOR (s:PageSession) REQUIRE s.session_hash IS UNIQUE

// name: judgement_id
// A passage is judged once for a question.
CREATE CONSTRAINT judgement_id IF NOT EXISTS FOR (j:Judgement) REQUIRE j.judgement_id IS UNIQUE

// name: judgement_by_question
// What was judged for a question of an ontology, and all its questions.
CREATE INDEX judgement_by_question IF NOT EXISTS FOR (j:Judgement) ON (j.ontology, j.question_id)
