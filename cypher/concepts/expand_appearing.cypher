// One step from some concepts to those that appear in the same source, at most so many of each, those that share
// most sources first.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH c, s LIMIT $scanned
  MATCH (s)<-[:APPEARS_IN]-(o:Concept)
  WHERE o <> c
  WITH o, count(*) AS support ORDER BY support DESC, o.concept_id
  WITH collect(o.concept_id) AS found
  RETURN found[..$fan_out] AS neighbours, size(found) AS number
}
RETURN concept_id, neighbours, number > $fan_out OR COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS cut
