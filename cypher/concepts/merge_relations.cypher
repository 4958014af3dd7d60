// Relationships of a concept become those of another, under the same ids; what related the two to each other goes.
MATCH (gone:Concept {concept_id: $gone})-[r:RELATED_TO]-(o:Concept)
WITH DISTINCT r, o, startNode(r) = gone AS outgoing, properties(r) AS said
DELETE r
WITH o, outgoing, said
WHERE NOT o.concept_id IN [$gone, $kept]
MATCH (kept:Concept {concept_id: $kept})
WITH said, CASE WHEN outgoing THEN kept ELSE o END AS a, CASE WHEN outgoing THEN o ELSE kept END AS b
CREATE (a)-[r:RELATED_TO {relation_id: said.relation_id}]->(b)
SET r = said
