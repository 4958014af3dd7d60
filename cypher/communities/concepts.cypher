// The next concepts of an ontology, in the order of their ids: whether each has so many ties, and to which concepts
// relationships or links go from it, with how many.
MATCH (c:Concept)
USING INDEX SEEK c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > $after
WITH c ORDER BY c.ontology, c.concept_id LIMIT $limit
WITH c, COUNT { (c)-[:APPEARS_IN]->() } + COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } >= $least AS tied
RETURN c.concept_id AS concept_id, tied,
       CASE WHEN tied THEN COLLECT {
         MATCH (c)-[:RELATED_TO|LINKED_TO]->(o:Concept)
         WITH o, count(*) AS times ORDER BY o.concept_id
         RETURN [o.concept_id, times]
       } ELSE [] END AS related
ORDER BY concept_id
