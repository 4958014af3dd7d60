// The text of a document: its sources, joined in reading order.
MATCH (s:Source {document_id: $document_id})
RETURN s.full_text AS full_text
ORDER BY s.paragraph
