// Some properties of documents; null takes one away. A write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties
