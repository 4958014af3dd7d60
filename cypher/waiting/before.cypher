// What is stored under some names; of those that are not there all is null.
UNWIND $document_ids AS id
OPTIONAL MATCH (d:Document {document_id: id})
RETURN id AS document_id, d.content_hash AS content_hash, d.sources AS sources, d.uri AS uri
