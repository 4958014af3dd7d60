// Some concepts, with how many sources carry each.
MATCH (c:Concept)
WHERE c.concept_id IN $concept_ids
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, COUNT { (c)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified
