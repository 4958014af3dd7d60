// The source that a document begins with.
MATCH (s:Source)
WHERE s.document_id = $document_id AND s.paragraph >= 0
RETURN s.source_id AS source_id
ORDER BY s.paragraph
LIMIT 1
