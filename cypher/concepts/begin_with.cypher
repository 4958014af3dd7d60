// Concepts whose id begins so; more than one is no answer.
MATCH (c:Concept)
WHERE c.concept_id STARTS WITH $prefix
RETURN c.concept_id AS concept_id
ORDER BY concept_id
LIMIT $limit
