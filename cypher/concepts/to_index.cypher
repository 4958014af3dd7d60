// Concepts with all that full text finds them by: the next portion, in the order of their ids.
MATCH (c:Concept) WHERE c.concept_id > $after
WITH c ORDER BY c.concept_id LIMIT 1000
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.search_terms AS search_terms,
       c.description AS description, c.text_hash AS text_hash, c.scope AS before
ORDER BY concept_id
