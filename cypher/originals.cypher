// name: find
// Return the original file of a document, if it is stored.
MATCH (d:Document {document_id: $document_id})
RETURN d.document AS document, d.ontology AS ontology, d.format AS format,
       head([(d)-[:ORIGINAL]->(b:Blob) | b.key]) AS key

// name: forget
// Remove replaced original files, which may become unused.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})-[r:ORIGINAL]->(was:Blob)
WHERE row.key IS NULL OR was.key <> row.key
SET was.touched_at = datetime.realtime(), was:LooseBlob
DELETE r

// name: sources_of_page
// Return the sources on a page of a document.
MATCH (s:Source)
WHERE s.document_id = $document_id AND s.paragraph >= 0 AND s.page <= $page AND s.last_page >= $page
RETURN s.source_id AS source_id, s.full_text AS full_text, s.start AS start, s.word_boxes AS word_boxes
ORDER BY s.paragraph

// name: write
// Set the original files of documents, if they are still held. Other files may be deleted or not written yet.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MATCH (file:Blob {key: row.key})
SET file.touched_at = datetime.realtime()
WITH d, row, file
WHERE row.hold IS NULL OR EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(file) }
MERGE (d)-[:ORIGINAL]->(file)
RETURN count(d) AS written
