// One step from some concepts along what is stated, or was linked by somebody, to at most so many of each, those that are stated most first.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[:RELATED_TO|LINKED_TO]-(o:Concept)
  WHERE o <> c
  WITH o LIMIT $scanned
  WITH o, count(*) AS support ORDER BY support DESC, o.concept_id
  WITH collect(o.concept_id) AS found
  RETURN found[..$fan_out] AS neighbours, size(found) AS number
}
RETURN concept_id, neighbours, number > $fan_out OR COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } > $scanned AS cut
