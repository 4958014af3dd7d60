// What is near to some concepts in meaning, by the vectors of one space, in place of what they were linked to before. Whoever
// has no vector there is passed over.
CYPHER 25
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
SET c.held_at = datetime.realtime()
WITH c, row
WHERE c[$property] IS NOT NULL
SET c[$near_property] = datetime.realtime()
WITH c, row
CALL (c) {
  MATCH (c)-[old:NEAR_TO {space: $space}]->()
  DELETE old
}
UNWIND row.near AS near
MATCH (n:Concept {concept_id: near.concept_id})
MERGE (c)-[r:NEAR_TO {space: $space}]->(n)
SET r.cosine = near.cosine
