// The next sources of an ontology, by id, that lack a vector of this space. Ordered by both keys of the index, and
// filtered after it: otherwise the planner reads and sorts all that are left, for every batch.
MATCH (s:Source)
USING INDEX s:Source(ontology, source_id)
WHERE s.ontology = $ontology AND s.source_id > $after
WITH s ORDER BY s.ontology, s.source_id
WHERE s.embedded_with IS NULL OR s.embedded_with <> $fingerprint
RETURN s.source_id AS source_id, s.full_text AS full_text, s.content_hash AS content_hash
LIMIT $limit
