// As `constructive/stated_within`, of relationships between concepts with very many, from the other side: of some
// documents so many sources are looked at, and it is told whether these are all.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources
}
RETURN sources <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (a:Concept)-[r:RELATED_TO {source_id: s.source_id}]->(b:Concept)
  USING INDEX r:RELATED_TO(source_id)
  WITH r, [a.concept_id, r.type_key, b.concept_id] AS triple
  WHERE triple IN $triples
  WITH triple, r ORDER BY r.confidence DESC, r.relation_id
  WITH triple, count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
  RETURN {triple: triple, support: support, relation_ids: relation_ids}
} AS found
