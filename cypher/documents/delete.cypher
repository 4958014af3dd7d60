// The document itself; its sources have gone before.
MATCH (d:Document {document_id: $document_id})
DETACH DELETE d
RETURN count(*) AS documents
