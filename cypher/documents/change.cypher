// What is said of a document is another; null takes a property away.
MATCH (d:Document {document_id: $document_id})
SET d += $properties, d.updated_at = datetime.realtime()
