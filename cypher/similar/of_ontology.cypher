// The next sources of an ontology in the order of their ids, which are as good as drawn by lot.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, source_id)
WHERE s.ontology = $ontology AND s.source_id > $after
WITH s ORDER BY s.ontology, s.source_id LIMIT $limit
RETURN s.source_id AS source_id, s.document_id AS document_id
ORDER BY source_id
