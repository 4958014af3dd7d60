// Relationships go again from the concept that they went from before it was merged, or to it; under the same ids.
UNWIND $rows AS row
MATCH (a:Concept)-[r:RELATED_TO {relation_id: row.relation_id}]->(b:Concept)
MATCH (g:Concept {concept_id: $gone})
WITH r, g, row, a, b, properties(r) AS said
WHERE CASE WHEN row.outgoing THEN a.concept_id = $kept AND b <> g ELSE b.concept_id = $kept AND a <> g END
DELETE r
WITH said, CASE WHEN row.outgoing THEN g ELSE a END AS a, CASE WHEN row.outgoing THEN b ELSE g END AS b
CREATE (a)-[r:RELATED_TO {relation_id: said.relation_id}]->(b)
SET r = said
