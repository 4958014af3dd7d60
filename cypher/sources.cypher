// name: at_paragraph
// Return the source at a position of a document, and the number of its sources.
OPTIONAL MATCH (s:Source {document_id: $document_id, paragraph: $paragraph})
OPTIONAL MATCH (d:Document {document_id: $document_id})
RETURN s.source_id AS source_id, coalesce(d.sources, 0) AS sources

// name: create_many
// Create sources in reading order, flagged for embedding and extraction. MERGE is needed because an incomplete
// deletion may have left a source with the same id.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MERGE (s:Source {source_id: row.source_id})
SET s += row, s.unembedded = true, s.unread = true
MERGE (s)-[:PART_OF]->(d)

// name: delete_many
// Delete sources with their chunks. They are locked before the search for chunks, because a concurrent batch may have
// written some. Other sources of these chunks are flagged. Image files may become unused. Open proposals are deleted.
// Decided proposals keep only their decision, without texts.
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
// Return the documents of the first sources that match conditions, in documents, ontologies or everywhere.
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
MATCH (s:Source {source_id: $source_id})
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes} END AS image

// name: fitting
// Return the given sources that match conditions.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
RETURN s.source_id AS source_id

// name: hold
// Lock the sources of a batch so that changes happen before or after, and return the unchanged ones with their
// positions, and whether they have chunks.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph,
       EXISTS { (s)<-[:CHUNK_OF]-() } AS has_chunks

// name: ids_of_changed
// Return the ids of sources with a changed text in existing documents. The query follows relationships, because with
// few nodes, the planner would compare all sources with all documents.
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
WHERE d.content_hash <> row.content_hash
MATCH (s:Source)-[:PART_OF]->(d)
RETURN s.source_id AS source_id
ORDER BY source_id

// name: ids_of_document
MATCH (s:Source {document_id: $document_id})
WHERE s.paragraph >= 0
RETURN s.source_id AS source_id
ORDER BY source_id

// name: mark
// Write the vectors of sources that are one chunk, mark all sources as embedded, and remove their flags. The vector of
// a source with chunks is deleted, because its chunks are searched. Sources are flagged for link proposals. The
// unembedded flag stays if sources are flagged for another mark.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
OPTIONAL MATCH (o:Ontology {name: s.ontology})
SET s:Unlinked, s[$mark_property] = $mark, s[$time_property] = datetime.realtime(), s[$refusal_property] = null, s.held_at = null,
    s.unembedded = CASE WHEN o.flagged_for <> $mark_property + ':' + $mark THEN true END
FOREACH (_ IN CASE WHEN row.vector IS NULL THEN [1] ELSE [] END | SET s[$property] = null)
WITH s, row
WHERE row.vector IS NOT NULL
CALL db.create.setNodeVectorProperty(s, $property, toFloatList(row.vector))

// name: move_many
// Update the positions of unchanged sources, which keep their nodes, vectors and evidence.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s += row

// name: neighbours
// Return windows of paragraphs around positions, each in one document.
UNWIND $places AS place
MATCH (s:Source)
WHERE s.document_id = place.document_id AND s.paragraph >= place.first AND s.paragraph <= place.last
RETURN place.source_id AS around, s.source_id AS source_id, s.ontology AS ontology, s.document AS document,
       s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes} END AS image
ORDER BY paragraph

// name: of_document
// Return all sources of a document in reading order, for chunks over several sources and for extraction.
MATCH (s:Source)
USING INDEX s:Source(document_id, paragraph)
WHERE s.document_id = $document_id AND s.paragraph >= 0
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash,
       s.block_kinds AS block_kinds, s.block_starts AS block_starts
ORDER BY paragraph

// name: outline
// Return the heading paths of a document with their first paragraphs.
MATCH (s:Source {document_id: $document_id})
WHERE s.paragraph >= 0 AND size(s.heading) > 0
WITH s.heading AS heading, min(s.paragraph) AS paragraph
RETURN heading, paragraph
ORDER BY paragraph LIMIT 300

// name: refused
// Return the rejected sources of an ontology with reasons.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$mark_property] = $refused
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s[$refusal_property] AS reason, s[$time_property] AS at
ORDER BY document, paragraph
LIMIT $limit

// name: set_blocks
// Set the blocks of unchanged sources. If a known kind changes, the source is pending for extraction and keeps its
// concepts until then. Return these sources.
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
// Set the document title and the search tokens of sources for full text.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.title = row.title, s.scope = row.scope

// name: to_index
// Return the next sources of an ontology in reading order, with all full-text fields.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE s.paragraph = 0
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       s.paragraph AS paragraph, coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text,
       s.scope AS before, d.metadata AS metadata
ORDER BY s.document_id, s.paragraph

// name: unmark_documents
// Remove the marks of all spaces from the sources of documents whose chunks must be planned again. Searches find
// their old vectors until then. Count the sources of the current space by document.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0
WITH s, s[$mark_property] IS NOT NULL AS counts
SET s.unembedded = true
WITH s, counts
FOREACH (name IN [key IN keys(s) WHERE key STARTS WITH 'embedded_with'] | SET s[name] = 'stale')
RETURN s.document_id AS document_id, sum(CASE WHEN counts THEN 1 ELSE 0 END) AS unmarked

// name: write_scopes
// Set the search tokens of sources, except sources that changed since. They are locked before the comparison. The
// first source of a document has its aliases from the metadata. A source with another text would have another id.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.heading = row.heading AND coalesce(s.title, '') = row.title AND s.paragraph = row.paragraph
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE row.paragraph = 0
WITH s, row, d WHERE coalesce(d.metadata, '') = coalesce(row.metadata, '')
SET s.scope = row.scope
