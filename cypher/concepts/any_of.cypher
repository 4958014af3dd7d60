// Whether some ontologies have a concept at all.
MATCH (c:Concept)
WHERE c.ontology IN $ontologies AND c.concept_id >= ''
RETURN c.concept_id AS concept_id
LIMIT 1
