// The document itself; its sources have gone before. A write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MATCH (d:Document {document_id: $document_id})
DETACH DELETE d
RETURN count(*) AS documents
