// The ids of a document's sources.
MATCH (s:Source {document_id: $document_id})
WHERE s.paragraph >= 0
RETURN s.source_id AS source_id
ORDER BY source_id
