// The names of a concept that goes mean the one that it becomes part of; with them whoever finds it again comes there.
// What is proposed of it still goes; of what was decided stays that it was.
MATCH (gone:Concept {concept_id: $gone})
MATCH (kept:Concept {concept_id: $kept})
CALL (gone, kept) {
  MATCH (n:ConceptName)-[means:NAMES]->(gone)
  MERGE (n)-[:NAMES]->(kept)
  DELETE means
}
CALL (gone) {
  MATCH (gone)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
DETACH DELETE gone
