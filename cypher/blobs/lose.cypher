// A blob whose file is missing or damaged. Followed folders read the files again that it may come from, though they look
// as they did.
MATCH (b:Blob {key: $key})
SET b.lost = true
WITH b
MATCH (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-(n)
MATCH (d:Document {document_id: n.document_id})
WHERE d.file_stamp IS NOT NULL OR d.file_hash IS NOT NULL
WITH DISTINCT d ORDER BY d.document_id
SET d.file_stamp = null, d.file_hash = null
