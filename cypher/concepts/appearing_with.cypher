// The concepts that appear in the same sources as one, those that share most of them first; of a concept with very
// many sources only so many are looked at.
MATCH (c:Concept {concept_id: $concept_id})
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH c, s LIMIT $scanned
  MATCH (s)<-[:APPEARS_IN]-(o:Concept)
  WHERE o <> c
  WITH o, collect(DISTINCT s.source_id) AS shared
  ORDER BY size(shared) DESC, o.concept_id
  LIMIT $limit
  RETURN o, shared
}
RETURN shared[..$most_sources] AS stated, size(shared) AS support, o.concept_id AS concept_id, o.ontology AS ontology,
       o.label AS label, o.description AS description, o.search_terms AS search_terms,
       COUNT { (o)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (o)-[:EVIDENCED_BY]->() } AS verified
ORDER BY support DESC, concept_id
