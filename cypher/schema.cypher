// name: 001_ontology_name
// An ontology's name is its id.
CREATE CONSTRAINT ontology_name IF NOT EXISTS FOR (o:Ontology) REQUIRE o.name IS UNIQUE

// name: 002_document_id
// MERGE without this constraint made 84 nodes of 60 ids under load.
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (d:Document) REQUIRE d.document_id IS UNIQUE

// name: 003_source_id
// Sources are found by id.
CREATE CONSTRAINT source_id IF NOT EXISTS FOR (s:Source) REQUIRE s.source_id IS UNIQUE

// name: 004_chunk_id
// Chunks are found by id.
CREATE CONSTRAINT chunk_id IF NOT EXISTS FOR (c:Chunk) REQUIRE c.chunk_id IS UNIQUE

// name: 005_job_id
// Jobs are found by id.
CREATE CONSTRAINT job_id IF NOT EXISTS FOR (j:Job) REQUIRE j.job_id IS UNIQUE

// name: 006_job_unique_key
// One unfinished job a key; finished jobs have none.
CREATE CONSTRAINT job_unique_key IF NOT EXISTS FOR (j:Job) REQUIRE j.unique_key IS UNIQUE

// name: 007_space_slug
// A space's slug is its id.
CREATE CONSTRAINT embedding_space_slug IF NOT EXISTS FOR (e:EmbeddingSpace) REQUIRE e.slug IS UNIQUE

// name: 008_document_by_name
// Documents are listed by ontology and name.
CREATE INDEX document_by_name IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.document)

// name: 009_source_by_place
// Neighbours: the same document, a range of paragraphs.
CREATE INDEX source_by_place IF NOT EXISTS FOR (s:Source) ON (s.document_id, s.paragraph)

// name: 010_source_by_ontology
// Backfill walks an ontology's sources in the order of their ids.
CREATE INDEX source_by_ontology IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.source_id)

// name: 011_job_by_state
// Workers look for queued and running jobs only.
CREATE INDEX job_by_state IF NOT EXISTS FOR (j:Job) ON (j.state, j.created_at)

// name: 012_source_text
// Full text over what a source says, its headings and its document's name; `scope` holds one token for the
// ontology and one for the document, so that filters run inside the index.
CREATE FULLTEXT INDEX source_text IF NOT EXISTS
FOR (s:Source) ON EACH [s.full_text, s.heading, s.document, s.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: 013_chunk_of_a_space
// Chunks belong to a space and may cover several sources.
MATCH (c:Chunk)
WHERE c.space IS NULL
SET c.space = 'default', c.sources = 1, c.end_offset = c.offset + c.length, c.length = null

// name: 014_source_by_reading_order
// Backfill walks an ontology's sources in reading order, for a chunk may cover several.
CREATE INDEX source_by_reading_order IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.document_id, s.paragraph)

// name: 015_source_by_ontology
// Nothing walks an ontology by source id any more.
DROP INDEX source_by_ontology IF EXISTS

// name: 016_cached_vector
// Vectors that were made before, by what was embedded in which space.
CREATE CONSTRAINT cached_vector_key IF NOT EXISTS FOR (v:CachedVector) REQUIRE v.key IS UNIQUE

// name: 017_cached_vector_by_use
// The least recently used go first when there are too many.
CREATE INDEX cached_vector_by_use IF NOT EXISTS FOR (v:CachedVector) ON (v.used_at)

// name: 018_cached_context
// Contexts that a language model wrote before, by what it was asked.
CREATE CONSTRAINT cached_context_key IF NOT EXISTS FOR (x:CachedContext) REQUIRE x.key IS UNIQUE

// name: 019_cached_context_by_use
// The least recently used contexts go first when there are too many.
CREATE INDEX cached_context_by_use IF NOT EXISTS FOR (x:CachedContext) ON (x.used_at)

// name: 020_job_by_queue
// Workers look at the queue, the longest waiting first.
CREATE INDEX job_by_queue IF NOT EXISTS FOR (j:Job) ON (j.state, j.queued_at)

// name: 021_job_by_parent
// The parts of a job.
CREATE INDEX job_by_parent IF NOT EXISTS FOR (j:Job) ON (j.parent_id, j.state)

// name: 022_job_in_queue
// Jobs that were made before there was a place in the queue, and things set aside.
MATCH (j:Job)
WHERE j.queued_at IS NULL
SET j.queued_at = coalesce(j.run_after, j.created_at), j.progressed_at = j.claimed_at, j.set_aside = 0,
    j.selection = 'due', j.key = CASE WHEN j.ontology IS NULL THEN null ELSE j.kind + ':' + j.ontology END

// name: 023_worker_name
// A worker's name is its id.
CREATE CONSTRAINT worker_name IF NOT EXISTS FOR (w:Worker) REQUIRE w.name IS UNIQUE

// name: 024_kept_answer
// Of requests with one key, however many come at once, one is carried out.
CREATE CONSTRAINT kept_answer_key IF NOT EXISTS FOR (a:KeptAnswer) REQUIRE a.key IS UNIQUE

// name: 025_folder_id
// One registration of a folder in an ontology: the id is made of both.
CREATE CONSTRAINT folder_id IF NOT EXISTS FOR (f:Folder) REQUIRE f.folder_id IS UNIQUE

// name: 026_document_by_folder
// Which documents came from a folder, page by page.
CREATE INDEX document_by_folder IF NOT EXISTS FOR (d:Document) ON (d.folder_id, d.document_id)

// name: 030_job_by_end
// Those who watch are told which jobs have just ended.
CREATE INDEX job_by_end IF NOT EXISTS FOR (j:Job) ON (j.finished_at)

// name: 031_source_title
// Sources know their document's title, so that full text finds it; a portion at a time, in the order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 5000
OPTIONAL MATCH (s)-[:PART_OF]->(d:Document)
SET s.title = coalesce(s.title, d.title, d.document)
RETURN max(s.source_id) AS after

// name: 032_source_words
// Full text over what a source says, its headings, its document's title and name; `scope` holds one token for the
// ontology and one for the document, so that filters run inside the index.
CREATE FULLTEXT INDEX source_words IF NOT EXISTS
FOR (s:Source) ON EACH [s.full_text, s.heading, s.title, s.document, s.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: 033_no_source_text
// The full-text index without titles, which source_words follows.
DROP INDEX source_text IF EXISTS

// name: 034_concept_id
// A concept is one node; without this, concurrent MERGE makes several.
CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (c:Concept) REQUIRE c.concept_id IS UNIQUE

// name: 035_concept_name
// A name means one concept of its ontology; the id is a hash of both.
CREATE CONSTRAINT concept_name_id IF NOT EXISTS FOR (n:ConceptName) REQUIRE n.name_id IS UNIQUE

// name: 036_instance_id
// The same quote of the same source for the same concept is one node, however often it is extracted.
CREATE CONSTRAINT instance_id IF NOT EXISTS FOR (i:Instance) REQUIRE i.instance_id IS UNIQUE

// name: 037_relation_id
// What a source states of two concepts is one relationship, however often it is extracted.
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR ()-[r:RELATED_TO]-() REQUIRE r.relation_id IS UNIQUE

// name: 038_relation_by_source
// The relationships that a source states go with it.
CREATE INDEX relation_by_source IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.source_id)

// name: 039_concept_by_ontology
// An ontology's concepts in the order of their ids.
CREATE INDEX concept_by_ontology IF NOT EXISTS FOR (c:Concept) ON (c.ontology, c.concept_id)

// name: 040_concept_words
// Full text over what concepts are called and said to be; `scope` holds one token for the ontology.
CREATE FULLTEXT INDEX concept_words IF NOT EXISTS
FOR (c:Concept) ON EACH [c.label, c.search_terms, c.description, c.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}

// name: 041_source_scope
// Sources whose words are looked at again, for parts of them that the index does not tell apart: the next portion, in
// the order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text, s.content_hash AS content_hash,
       s.scope AS before
ORDER BY source_id

// name: 042_concept_scope
// Concepts whose names are looked at again, for parts of them that the index does not tell apart: the next portion, in
// the order of their ids.
MATCH (c:Concept) WHERE c.concept_id > $after
WITH c ORDER BY c.concept_id LIMIT 1000
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.search_terms AS search_terms,
       c.text_hash AS text_hash, c.scope AS before
ORDER BY concept_id

// name: 054_job_rank
// Jobs that were made before they had a rank: new text first, then what is cleared away, then concepts.
MATCH (j:Job)
WHERE j.rank IS NULL AND j.state IN ['queued', 'running']
SET j.rank = CASE j.kind WHEN 'space_cleanup' THEN 1 WHEN 'concept_extraction' THEN 2
                         WHEN 'concept_embedding' THEN 3 ELSE 0 END

// name: 055_job_by_rank
// Workers look at the queue, the first rank first, in each the longest waiting.
CREATE INDEX job_by_rank IF NOT EXISTS FOR (j:Job) ON (j.state, j.rank, j.queued_at)

// name: 056_job_by_ontology
// The last jobs of an ontology are looked at with each document that is stored; jobs that ended are kept for days.
CREATE INDEX job_by_ontology IF NOT EXISTS FOR (j:Job) ON (j.ontology, j.kind)

// name: 057_source_unembedded
// What may lack its vector is found by this, however much there is that does not.
CREATE INDEX source_unembedded IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unembedded, s.document_id, s.paragraph)

// name: 058_source_unread
// What may not have been read for concepts is found by this, however much there is that was.
CREATE INDEX source_unread IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unread, s.document_id, s.paragraph)

// name: 060_document_metadata
// Documents whose metadata gets properties of its own, to be compared: the next portion, in the order of their ids.
MATCH (d:Document) WHERE d.document_id > $after AND d.metadata IS NOT NULL
WITH d ORDER BY d.document_id LIMIT 1000
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.metadata AS metadata
ORDER BY document_id

// name: 077_source_stems
// Sources that get the stems of their words in the language of their text, for full text: the next portion, in the
// order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text, s.content_hash AS content_hash,
       s.scope AS before
ORDER BY source_id

// name: 085_document_text_hash
// What documents say as a whole, so that the same under another name is noticed: the next portion, in the order of ids.
MATCH (d:Document) WHERE d.document_id > $after AND d.content_hash IS NOT NULL
WITH d ORDER BY d.document_id LIMIT 200
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, coalesce(d.preface, '') AS preface,
       COLLECT {
         MATCH (s:Source) WHERE s.document_id = d.document_id AND s.paragraph >= 0
         RETURN s.content_hash ORDER BY s.paragraph
       } AS passages
ORDER BY document_id

// name: 086_document_by_text
// Documents of an ontology that say the same are found by this, in the order of their names.
CREATE INDEX document_by_text IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.text_hash, d.document)

// name: 087_waiting_document
// A document that waits for approval has the id that it will have.
CREATE CONSTRAINT waiting_document IF NOT EXISTS FOR (w:WaitingDocument) REQUIRE w.document_id IS UNIQUE

// name: 088_waiting_by_name
// What waits is listed and counted by ontology and name; what was rejected has no such entry.
CREATE INDEX waiting_by_name IF NOT EXISTS FOR (w:WaitingDocument) ON (w.awaits, w.document)

// name: 089_waiting_by_folder
// What of a folder waits or was rejected.
CREATE INDEX waiting_by_folder IF NOT EXISTS FOR (w:WaitingDocument) ON (w.folder_id, w.document_id)

// name: 090_blob_key
// A blob is what its bytes say.
CREATE CONSTRAINT blob_key IF NOT EXISTS FOR (b:Blob) REQUIRE b.key IS UNIQUE

// name: 091_blob_hold_id
// What keeps blobs for a while.
CREATE CONSTRAINT blob_hold_id IF NOT EXISTS FOR (h:BlobHold) REQUIRE h.hold_id IS UNIQUE

// name: 092_image_by_document
// The pictures of a document.
CREATE INDEX image_by_document IF NOT EXISTS FOR (s:Image) ON (s.document_id)

// name: 093_image_by_ontology
// The pictures of an ontology.
CREATE INDEX image_by_ontology IF NOT EXISTS FOR (s:Image) ON (s.ontology)

// name: 094_source_stems_of_letters
// Sources get their stems again, of which some were parts of Chinese and Japanese words, in the language of their ontology
// if it has one: the next portion, in the order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
OPTIONAL MATCH (o:Ontology {name: s.ontology})
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text, s.content_hash AS content_hash,
       s.scope AS before, o.language AS language
ORDER BY source_id

// name: 095_image_by_id
// The pictures of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX image_by_id IF NOT EXISTS FOR (s:Image) ON (s.ontology, s.source_id)

// name: 100_relation_type_id
// A type of relationships is there once in an ontology.
CREATE CONSTRAINT relation_type_id IF NOT EXISTS FOR (t:RelationType) REQUIRE t.type_id IS UNIQUE

// name: 101_relation_type_by_ontology
// The types of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_type_by_ontology IF NOT EXISTS FOR (t:RelationType) ON (t.ontology, t.type_id)

// name: 102_relation_by_ontology
// The relationships of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_by_ontology IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.ontology, r.relation_id)

// name: 103_relation_by_type
// The relationships that are stated with a type.
CREATE INDEX relation_by_type IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.type_id)

// name: 104_relation_texts
// The next portion of relationships, in the order of their ids, for their ontology, type and text to be written: with
// the quotes of both concepts in the source that states them; no text: it has gone.
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
WHERE r.relation_id > $after
WITH a, r, b ORDER BY r.relation_id LIMIT 1000
OPTIONAL MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       a.ontology AS ontology, r.type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with,
       a.label AS subject_label, b.label AS object_label, s.full_text AS full_text,
       COLLECT { MATCH (a)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS subject_quotes,
       COLLECT { MATCH (b)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS object_quotes
ORDER BY relation_id

// name: 105_loose_blob_by_key
// Blobs that may be unused, in the order in which they are looked at.
CREATE INDEX loose_blob_by_key IF NOT EXISTS FOR (b:LooseBlob) ON (b.key)

// name: 106_replaced_image_vectors
// The next portion of pictures, in the order of their ids: vectors of another file than theirs go, with their marks.
CYPHER 25
MATCH (s:Image)
WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
WITH collect(s) AS images, max(s.source_id) AS after
CALL (images) {
  MATCH (e:EmbeddingSpace {modality: 'image'})
  UNWIND images AS s
  WITH s, 'embedded_with_' + e.slug AS mark, 'embedding_' + e.slug AS vector
  WHERE s[mark] IS NOT NULL AND NOT s[mark] ENDS WITH s.storage_key
  SET s[mark] = null, s[vector] = null
}
RETURN after

// name: 107_relation_texts_left
// As `104_relation_texts`, which may have ended early: the next portion of relationships that it has left, with
// the quotes of both concepts in the source that states them; no text: it has gone.
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
WHERE r.relation_id > $after AND r.ontology IS NULL
WITH a, r, b ORDER BY r.relation_id LIMIT 1000
OPTIONAL MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       a.ontology AS ontology, r.type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with,
       a.label AS subject_label, b.label AS object_label, s.full_text AS full_text,
       COLLECT { MATCH (a)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS subject_quotes,
       COLLECT { MATCH (b)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS object_quotes
ORDER BY relation_id

// name: 108_type_merges_to_finish
// Merges of types and their undoings that may have been broken off before that was noted: the worker finishes them.
MATCH (m:TypeMerge)
SET m.renaming = coalesce(m.renaming, randomUUID())

// name: 109_proposal_id
// A link is proposed once: a pair that was rejected is known again by this.
CREATE CONSTRAINT proposal_id IF NOT EXISTS FOR (p:Proposal) REQUIRE p.proposal_id IS UNIQUE

// name: 110_proposal_by_score
// The proposals of an ontology by what became of them, in the order of their scores: so they are listed, and the weakest are dropped.
CREATE INDEX proposal_by_score IF NOT EXISTS FOR (p:Proposal) ON (p.ontology, p.state, p.score)

// name: 111_concept_merge_id
// A merge of concepts is recorded once.
CREATE CONSTRAINT concept_merge_id IF NOT EXISTS FOR (m:ConceptMerge) REQUIRE m.merge_id IS UNIQUE

// name: 112_concept_merge_by_pair
// The merges of an ontology, and whether two concepts were parted.
CREATE INDEX concept_merge_by_pair IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.pair)

// name: 113_community_id
// A community is one node of its generation.
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (c:Community) REQUIRE (c.generation, c.community_id) IS UNIQUE

// name: 114_community_by_level
// The communities of an ontology as they are listed: those of a generation, level by level.
CREATE INDEX community_by_level IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.level, c.place)

// name: 115_unlinked_by_ontology
// What is to be looked at for links, by its ontology: elsewhere very many may wait, or for ever.
CREATE INDEX unlinked_by_ontology IF NOT EXISTS FOR (n:Unlinked) ON (n.ontology)

// name: 117_concept_merge_by_undoing
// The merges of an ontology that were taken back: what must stay apart.
CREATE INDEX concept_merge_by_undoing IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.undone_at)

// name: 118_concept_merge_by_kept
// What became part of a concept.
CREATE INDEX concept_merge_by_kept IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.kept_id)

// name: 119_api_key_id
// A key has one id.
CREATE CONSTRAINT api_key_id IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.key_id IS UNIQUE

// name: 120_key_ring
// There is one ring of keys.
CREATE CONSTRAINT key_ring IF NOT EXISTS FOR (r:KeyRing) REQUIRE r.ring IS UNIQUE

// name: 121_audit_by_time
// What was changed is read from the newest on, and forgotten from the oldest.
CREATE INDEX audit_by_time IF NOT EXISTS FOR (a:AuditEntry) ON (a.at)

// name: 122_audit_by_key
// What was changed with one key, from the newest on.
CREATE INDEX audit_by_key IF NOT EXISTS FOR (a:AuditEntry) ON (a.key_id, a.at)

// name: 123_audit_id
// An entry is written once.
CREATE CONSTRAINT audit_id IF NOT EXISTS FOR (a:AuditEntry) REQUIRE a.entry_id IS UNIQUE

// name: 124_community_by_parent
// The parts of a community, counted for each that is listed and listed below it.
CREATE INDEX community_by_parent IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.parent_id)

// name: 125_page_session
// A session of the page is looked up by the hash of what its browser has.
CREATE CONSTRAINT page_session IF NOT EXISTS FOR (s:PageSession) REQUIRE s.session_hash IS UNIQUE

// name: 126_judgement_id
// A passage is judged once for a question.
CREATE CONSTRAINT judgement_id IF NOT EXISTS FOR (j:Judgement) REQUIRE j.judgement_id IS UNIQUE

// name: 127_judgement_by_question
// What was judged for a question of an ontology, and all its questions.
CREATE INDEX judgement_by_question IF NOT EXISTS FOR (j:Judgement) ON (j.ontology, j.question_id)

// name: 128_normal_form
// Sources that are indexed again, now with the normal form of their words and the aliases of their documents, in the
// language of their ontology if it has one: the next portion, in the order of their ids. Concepts follow
// (concepts/to_index).
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
OPTIONAL MATCH (o:Ontology {name: s.ontology})
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE s.paragraph = 0
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       s.paragraph AS paragraph, coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text,
       s.content_hash AS content_hash, s.scope AS before, o.language AS language, d.metadata AS metadata
ORDER BY source_id
