// Sources whose id begins so; more than one is no answer.
MATCH (s:Source)
WHERE s.source_id STARTS WITH $prefix AND ($ontologies IS NULL OR s.ontology IN $ontologies)
RETURN s.source_id AS source_id
ORDER BY source_id
LIMIT $limit
