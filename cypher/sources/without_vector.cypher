// The next sources of an ontology, by id, that lack a vector of this space.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.source_id > $after
  AND (s.embedded_with IS NULL OR s.embedded_with <> $fingerprint)
RETURN s.source_id AS source_id, s.document_id AS document_id, s.full_text AS full_text,
       s.content_hash AS content_hash, s.start AS start
ORDER BY s.source_id
LIMIT $limit
