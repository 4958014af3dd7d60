// What is stored under a document's name, without touching it.
MATCH (d:Document {document_id: $document_id})
RETURN d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources
