// The source that stands at a place of a document, and how many the document has.
OPTIONAL MATCH (s:Source {document_id: $document_id, paragraph: $paragraph})
OPTIONAL MATCH (d:Document {document_id: $document_id})
RETURN s.source_id AS source_id, coalesce(d.sources, 0) AS sources
