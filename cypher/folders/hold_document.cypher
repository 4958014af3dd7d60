// Whoever deletes a document for a folder holds it first; none when it came from elsewhere.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
WITH d
WHERE d.folder_id = $folder_id
RETURN d.document_id AS document_id
