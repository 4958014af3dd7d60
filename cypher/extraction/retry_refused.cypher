// Sources that were set aside are due again.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s.not_extracted_because IS NOT NULL
SET s.unread = true
REMOVE s.extracted_with, s.extracted_at, s.not_extracted_because, s.unverified_quotes
RETURN count(s) AS sources
