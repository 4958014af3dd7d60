// What is known of a document besides its sources.
MATCH (d:Document {document_id: $document_id})
SET d += $properties, d.updated_at = datetime.realtime()
