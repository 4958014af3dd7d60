// What is said of a document is another; null takes a property away. A write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MATCH (d:Document {document_id: $document_id})
SET d += $properties, d.updated_at = datetime.realtime()
