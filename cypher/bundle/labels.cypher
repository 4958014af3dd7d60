// What some concepts are called.
UNWIND $concept_ids AS id
MATCH (c:Concept {concept_id: id})
RETURN c.concept_id AS concept_id, c.label AS label
