// The members of communities, each with its place, and the first as what a community is named by; in the order in which
// all lock concepts. A concept that has gone is none. Whoever asks has locked the ontology.
UNWIND $rows AS row
MATCH (k:Concept {concept_id: row.concept_id})
WHERE k.ontology = $ontology
SET k.held_at = datetime.realtime()
WITH k, row
UNWIND row.communities AS own
MATCH (c:Community {generation: $generation, community_id: own.community_id})
MERGE (k)-[m:MEMBER_OF]->(c)
SET m.place = own.place, m.weight = own.weight
FOREACH (_ IN CASE WHEN own.place < $named THEN [1] ELSE [] END |
  MERGE (c)-[n:NAMED_BY]->(k)
  SET n.place = own.place)
RETURN count(m) AS written
