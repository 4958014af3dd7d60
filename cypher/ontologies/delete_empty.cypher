// An ontology goes when its last document has gone, with its vocabulary of relationships, its communities, what was
// merged, proposed and judged in it. It is locked first: a document may just be coming in.
MATCH (o:Ontology {name: $name})
SET o.changed_at = datetime.realtime()
WITH o
WHERE NOT EXISTS { (:Document)-[:IN_ONTOLOGY]->(o) }
CALL (o) {
  MATCH (t:RelationType)
  WHERE t.ontology = o.name AND t.type_id > ''
  DETACH DELETE t
}
CALL (o) {
  MATCH (m:TypeMerge)
  WHERE m.ontology = o.name
  DELETE m
}
CALL (o) {
  MATCH (p:Proposal)
  WHERE p.ontology = o.name
  DETACH DELETE p
}
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
  DETACH DELETE c
}
CALL (o) {
  MATCH (m:ConceptMerge)
  WHERE m.ontology = o.name AND m.pair >= ''
  DETACH DELETE m
}
CALL (o) {
  MATCH (j:Judgement)
  WHERE j.ontology = o.name AND j.question_id >= ''
  DELETE j
}
DETACH DELETE o
