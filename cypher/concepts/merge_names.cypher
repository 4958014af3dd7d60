// The names of a concept that goes mean the one that it becomes part of; with them whoever finds it again comes there.
// Links that somebody accepted go over. What else was proposed of it goes; of what was rejected stays that it was.
MATCH (gone:Concept {concept_id: $gone})
MATCH (kept:Concept {concept_id: $kept})
CALL (gone, kept) {
  MATCH (n:ConceptName)-[means:NAMES]->(gone)
  MERGE (n)-[:NAMES]->(kept)
  DELETE means
}
CALL (gone, kept) {
  MATCH (gone)<-[end:PROPOSES]-(p:Proposal {state: 'accepted'})-[:PROPOSES]->(other:Concept)
  MATCH (gone)-[own:LINKED_TO {proposal_id: p.proposal_id}]-(other)
  WHERE other <> kept AND NOT EXISTS { (kept)-[:LINKED_TO]-(other) }
  CREATE (p)-[:PROPOSES {place: end.place}]->(kept)
  CREATE (kept)-[link:LINKED_TO]->(other)
  SET link = properties(own)
  DELETE end, own
}
CALL (gone) {
  MATCH (gone)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state <> 'rejected'
  DETACH DELETE p
}
DETACH DELETE gone
