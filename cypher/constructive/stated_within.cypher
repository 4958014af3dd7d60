// How many sources of some documents state each of some relationships, and the ids of the surest; one that none of
// them states is missing. Of a concept with very many relationships so many are looked at.
UNWIND $edges AS edge
MATCH (a:Concept {concept_id: edge.subject})
CALL (a, edge) {
  MATCH (a)-[r:RELATED_TO]->(b:Concept)
  WITH edge, r, b LIMIT $scanned
  WITH r, edge, b WHERE b.concept_id = edge.object AND r.type_key = edge.type_key
  MATCH (s:Source {source_id: r.source_id})
  WHERE s.document_id IN $document_ids
  WITH r ORDER BY r.confidence DESC, r.relation_id
  RETURN count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
}
WITH edge, support, relation_ids WHERE support > 0
RETURN edge.number AS number, support, relation_ids
