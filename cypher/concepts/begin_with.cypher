// Concepts whose id begins so; more than one is no answer.
MATCH (c:Concept)
WHERE c.concept_id STARTS WITH $prefix AND ($ontologies IS NULL OR c.ontology IN $ontologies)
RETURN c.concept_id AS concept_id
ORDER BY concept_id
LIMIT $limit
