// What is stated with some types, as sources say it, and of which pairs of concepts; of each so many are looked at.
UNWIND $types AS key
CALL (key) {
  MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id IN key.ids
  WITH r.statement AS statement, a.concept_id + b.concept_id AS pair LIMIT $scanned
  RETURN collect(DISTINCT statement)[..$examples] AS examples, collect(DISTINCT pair) AS pairs
}
RETURN key.type_id AS type_id, examples, pairs
