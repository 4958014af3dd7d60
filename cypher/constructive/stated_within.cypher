// How many sources of some documents state each of some relationships, and the ids of the surest; one that none of
// them states is missing. Both ends are sought, and what is between them: where both have very many relationships that
// is not looked at, but told. These are collected before their sources are sought: else a plan may go through all
// relationships there are by their index of sources.
UNWIND $edges AS edge
MATCH (a:Concept {concept_id: edge.subject})
CALL (edge) {
  MATCH (b:Concept {concept_id: edge.object})
  RETURN b
}
WITH edge, a, b, COUNT { (a)-[:RELATED_TO]->() } AS out, COUNT { (b)<-[:RELATED_TO]-() } AS back
WITH edge, a, b, out > $scanned AND back > $scanned AS hub
CALL (edge, a, b, hub) {
  WITH edge, a, b WHERE NOT hub
  UNWIND COLLECT { MATCH (a)-[r:RELATED_TO]->(b) WHERE r.type_key = edge.type_key RETURN r } AS r
  MATCH (s:Source {source_id: r.source_id})
  WHERE s.document_id IN $document_ids
  WITH r ORDER BY r.confidence DESC, r.relation_id
  RETURN count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
}
WITH edge, support, relation_ids, hub WHERE hub OR support > 0
RETURN edge.number AS number, support, relation_ids, hub
