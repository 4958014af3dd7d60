// The last concepts up to one, in the order of their ids, that are embedded: those of a batch before a worker died.
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id <= $last AND c[$mark_property] STARTS WITH $mark + ':'
WITH c ORDER BY c.ontology DESC, c.concept_id DESC
RETURN c.concept_id AS concept_id
LIMIT $limit
