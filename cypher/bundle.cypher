// name: chunks
// Return the chunks of a space that cover given sources, with all covered sources and child chunks.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space
WITH DISTINCT c
RETURN c.chunk_id AS chunk_id, c.document_id AS document_id, c.offset AS offset, c.end_offset AS end_offset,
       c[$property] AS vector, [(child:Chunk)-[:CHILD_OF]->(c) | child.chunk_id] AS children,
       COLLECT { MATCH (c)-[:CHUNK_OF]->(s:Source) RETURN s.paragraph ORDER BY s.paragraph } AS paragraphs
ORDER BY chunk_id

// name: counts
// Count the documents of each ontology.
MATCH (o:Ontology)
RETURN o.name AS ontology, COUNT { MATCH (d:Document) WHERE d.ontology = o.name AND d.document >= '' } AS documents
ORDER BY ontology

// name: documents
// Return documents of an ontology after a name, by name. Documents that are being stored are excluded.
MATCH (d:Document)
USING INDEX SEEK d:Document(ontology, document)
WHERE d.ontology = $ontology AND d.document > $after AND d.content_hash IS NOT NULL
WITH d ORDER BY d.ontology, d.document
LIMIT $limit
RETURN d.document_id AS document_id, d.document AS document, d.title AS title, d.uri AS uri, d.format AS format,
       d.content_hash AS content_hash, d.characters AS characters, coalesce(d.preface, '') AS preface,
       d.metadata AS metadata, d.changes AS changes, d.sources AS sources, d.written_by AS version,
       head([(d)-[:ORIGINAL]->(b:Blob) | b.key]) AS original

// name: foreign_chunks
// Return a chunk with one of these ids that belongs to another document or space.
UNWIND $rows AS row
MATCH (c:Chunk {chunk_id: row.chunk_id})
WHERE c.document_id <> row.document_id OR c.space <> $space
RETURN c.chunk_id AS chunk_id
LIMIT 1

// name: hold
// Lock existing documents by id and return the hashes of their contents.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.content_hash AS content_hash

// name: keep_changes
// Restore the changes that users made to documents before the export.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
SET d.changes = row.changes

// name: labels
UNWIND $concept_ids AS id
MATCH (c:Concept {concept_id: id})
RETURN c.concept_id AS concept_id, c.label AS label

// name: sources
// Return the sources of documents in a range of paragraphs, in reading order. Vectors are included if up to date.
UNWIND $document_ids AS id
MATCH (s:Source)
USING INDEX SEEK s:Source(document_id, paragraph)
WHERE s.document_id = id AND s.paragraph >= $first AND s.paragraph < $until
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.full_text AS full_text, s.start AS start, s.end AS end, s.block_kinds AS block_kinds,
       s.block_starts AS block_starts, s.page AS page, s.last_page AS last_page, s.ocr_confidence AS ocr_confidence,
       s.word_boxes AS word_boxes, s[$mark_property] = $mark AS embedded,
       CASE WHEN s[$mark_property] = $mark THEN s[$property] END AS vector,
       s.extracted_with AS extracted_with, s.not_extracted_because AS refused, s.unverified_quotes AS unverified,
       CASE WHEN s:Image THEN s {.storage_key, .thumbnail_key, .content_type, .width, .height, .bytes}
       END AS image
ORDER BY s.document_id, s.paragraph

// name: sources_of
// Return the sources of a document in a range of paragraphs, in reading order, with the state of embedding and
// extraction.
MATCH (s:Source)
USING INDEX SEEK s:Source(document_id, paragraph)
WHERE s.document_id = $document_id AND s.paragraph >= $first AND s.paragraph < $until
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash,
       coalesce(s[$mark_property] = $mark, false) AS embedded, s.extracted_with AS extracted_with
ORDER BY s.document_id, s.paragraph
