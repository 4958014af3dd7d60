// name: at_paragraph
// The source that stands at a place of a document, and how many the document has.
OPTIONAL MATCH (s:Source {document_id: $document_id, paragraph: $paragraph})
OPTIONAL MATCH (d:Document {document_id: $document_id})
RETURN s.source_id AS source_id, coalesce(d.sources, 0) AS sources

// name: create_many
// New sources, in reading order, flagged for what embeds and what reads them. MERGE: one of that id may be left of
// a document that was not deleted whole.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MERGE (s:Source {source_id: row.source_id})
SET s += row, s.unembedded = true, s.unread = true
MERGE (s)-[:PART_OF]->(d)

// name: delete_many
// Sources go with their chunks. They are locked before their chunks are looked for: a batch that was embedding
// them may just have made some. Sources that shared such a chunk are looked at again. Files of pictures may have no use
// any more. Proposals go with them; of one that was decided stays that it was, without a word of its text.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
SET s.held_at = datetime.realtime()
WITH collect(s) AS gone
CALL (gone) {
  UNWIND gone AS s
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WITH DISTINCT c
  CALL (c) {
    MATCH (c)-[:CHUNK_OF]->(other:Source)
    SET other[CASE c.space WHEN 'default' THEN 'embedded_with' ELSE 'embedded_with_' + c.space END] = null,
        other.unembedded = true
    RETURN collect(other.source_id) AS shared
  }
  DETACH DELETE c
  RETURN reduce(all = [], each IN collect(shared) | all + each) AS shared
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)-[:STORED_AS|SHOWN_AS]->(b:Blob)
  WITH DISTINCT b ORDER BY b.key
  SET b.touched_at = datetime.realtime(), b:LooseBlob
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
CALL (gone) { UNWIND gone AS s DETACH DELETE s }
RETURN size(gone) AS sources, shared

// name: documents_fitting
// The documents of the first sources that fit conditions: of some documents, of some ontologies, or of all.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.document_id IN $document_ids AND s.paragraph >= 0 RETURN s
  }
  WHEN $image = true THEN { MATCH (s:Image) WHERE $ontologies IS NULL OR s.ontology IN $ontologies RETURN s }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0 RETURN s
  }
  ELSE { MATCH (s:Source) RETURN s }
}
WITH s
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
WITH s LIMIT $sources
RETURN collect(DISTINCT s.document_id) AS document_ids

// name: find
// One source.
MATCH (s:Source {source_id: $source_id})
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes, .perceptual_hash} END AS image

// name: fitting
// Those of some sources that fit conditions.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
RETURN s.source_id AS source_id

// name: hold
// Locks sources that a batch was made for, so that whoever changes them comes before or after, not between; gives
// those that still say what was embedded, and where they are now.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph

// name: ids_of_changed
// The ids of the sources of those documents that are there and say something else than what comes. By their
// relationships: while there are few nodes, the planner compares all sources with all documents otherwise.
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
WHERE d.content_hash <> row.content_hash
MATCH (s:Source)-[:PART_OF]->(d)
RETURN s.source_id AS source_id
ORDER BY source_id

// name: ids_of_document
// The ids of a document's sources.
MATCH (s:Source {document_id: $document_id})
WHERE s.paragraph >= 0
RETURN s.source_id AS source_id
ORDER BY source_id

// name: mark
// These sources are embedded as they should be, and flagged no more. The vector of one that has chunks goes: its chunks
// are searched; links of it are to be looked for. Where what is flagged is noted for another mark, the flag stays: this one came late.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
OPTIONAL MATCH (o:Ontology {name: s.ontology})
SET s:Unlinked, s[$mark_property] = $mark, s[$time_property] = datetime.realtime(), s[$refusal_property] = null, s.held_at = null,
    s.unembedded = CASE WHEN o.flagged_for <> $mark_property + ':' + $mark THEN true END
FOREACH (_ IN CASE WHEN row.has_chunks THEN [1] ELSE [] END | SET s[$property] = null)

// name: move_many
// Sources that say the same as before, at another place. They keep node, vector and evidence.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s += row

// name: neighbours
// Windows of paragraphs around some places, each within its own document.
UNWIND $places AS place
MATCH (s:Source)
WHERE s.document_id = place.document_id AND s.paragraph >= place.first AND s.paragraph <= place.last
RETURN place.source_id AS around, s.source_id AS source_id, s.ontology AS ontology, s.document AS document,
       s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes, .perceptual_hash} END AS image
ORDER BY around, paragraph

// name: of_document
// All sources of a document in reading order, for planning chunks that cover several, and for extraction.
MATCH (s:Source)
USING INDEX s:Source(document_id, paragraph)
WHERE s.document_id = $document_id AND s.paragraph >= 0
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash,
       s.block_kinds AS block_kinds, s.block_starts AS block_starts
ORDER BY paragraph

// name: refused
// The sources of an ontology that were set aside, with the reasons.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$mark_property] = $refused
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s[$refusal_property] AS reason, s[$time_property] AS at
ORDER BY document, paragraph
LIMIT $limit

// name: renew_documents
// The sources of some documents are embedded anew, and not from the cache; until then they are found as they are. What the
// model refused is tried again. Counts them by ontology, in the order in which all lock them.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0 AND s.ontology = $ontology
WITH s ORDER BY s.source_id
SET s[$mark_property] = CASE WHEN s[$mark_property] STARTS WITH $refused OR s[$mark_property] IS NULL THEN null ELSE $renewed END,
    s.unembedded = true
RETURN count(s) AS renewed

// name: set_blocks
// What the blocks of sources are whose text stays. Where a kind was known and is another, the source is to be read
// for concepts again; what was found there stays until then. Gives those.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WITH s, row, coalesce(s.block_kinds <> row.block_kinds, false) AS changed
SET s.block_kinds = row.block_kinds, s.block_starts = row.block_starts,
    s.extracted_with = CASE WHEN changed THEN null ELSE s.extracted_with END,
    s.unread = CASE WHEN changed THEN true ELSE s.unread END
WITH s, changed
WHERE changed
RETURN s.source_id AS source_id

// name: set_title
// The title of a document on its sources, where full text looks for it, and what it is found by beside its words.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.title = row.title, s.scope = row.scope

// name: to_index
// The next sources of an ontology in reading order, with all that full text finds them by.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE s.paragraph = 0
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       s.paragraph AS paragraph, coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text,
       s.content_hash AS content_hash, s.scope AS before, d.metadata AS metadata
ORDER BY s.document_id, s.paragraph

// name: unmark_documents
// The sources of documents whose chunks are to be planned anew, in whatever space; until then they are found as
// they are. Counts those of the space in use, by document.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0
WITH s, s[$mark_property] IS NOT NULL AS counts
SET s.unembedded = true
WITH s, counts
FOREACH (name IN [key IN keys(s) WHERE key STARTS WITH 'embedded_with'] | SET s[name] = 'stale')
RETURN s.document_id AS document_id, sum(CASE WHEN counts THEN 1 ELSE 0 END) AS unmarked

// name: write_scopes
// What full text finds sources by beside their text; those that were changed meanwhile have it already. They are locked
// before they are compared. The first source of a document has its aliases, which are metadata.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash AND s.heading = row.heading AND coalesce(s.title, '') = row.title
      AND s.paragraph = row.paragraph
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE row.paragraph = 0
WITH s, row, d WHERE coalesce(d.metadata, '') = coalesce(row.metadata, '')
SET s.scope = row.scope

// name: write_vectors
// Vectors of sources that are one chunk each.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
CALL db.create.setNodeVectorProperty(s, $property, toFloatList(row.vector))
RETURN count(s) AS written
