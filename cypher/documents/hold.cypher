// Whoever deletes a document holds it first, as whoever writes it does.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id
