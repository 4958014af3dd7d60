// The sources in which both concepts of a pair appear.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
CALL (a, b) {
  MATCH (a)-[:APPEARS_IN]->(s:Source)<-[:APPEARS_IN]-(b)
  WITH DISTINCT s LIMIT $most_sources
  RETURN collect(s.source_id) AS shared
}
RETURN pair[0] AS first, pair[1] AS second, shared
