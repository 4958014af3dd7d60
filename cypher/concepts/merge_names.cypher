// The names of a concept that goes mean the one that it becomes part of; with them whoever finds it again comes there.
MATCH (gone:Concept {concept_id: $gone})
MATCH (kept:Concept {concept_id: $kept})
CALL (gone, kept) {
  MATCH (n:ConceptName)-[means:NAMES]->(gone)
  MERGE (n)-[:NAMES]->(kept)
  DELETE means
}
DETACH DELETE gone
