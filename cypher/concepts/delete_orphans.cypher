// Concepts that no source carries any more go, with their names. Whoever asks has locked them.
// Proposals go with them; of one that was decided stays that it was, without a word of its text.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WHERE NOT EXISTS { (c)-[:APPEARS_IN]->(:Source) }
CALL (c) {
  MATCH (c)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
OPTIONAL MATCH (n:ConceptName)-[:NAMES]->(c)
OPTIONAL MATCH (c)-[:EVIDENCED_BY]->(i:Instance)
WITH c, collect(DISTINCT n) AS names, collect(DISTINCT i) AS quotes
FOREACH (n IN names | DETACH DELETE n)
FOREACH (i IN quotes | DETACH DELETE i)
DETACH DELETE c
