// What decides which of some concepts the others become part of, the first of them first.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
RETURN c.concept_id AS concept_id, c.ontology AS ontology
ORDER BY COUNT { (c)-[:APPEARS_IN]->(:Source) } DESC, c.created_at, c.concept_id
