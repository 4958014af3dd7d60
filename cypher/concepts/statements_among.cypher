// What is stated of some concepts among themselves, or was linked by somebody; of a concept with very many
// relationships so many are looked at.
UNWIND $concept_ids AS concept_id
MATCH (a:Concept {concept_id: concept_id})
CALL (a) {
  MATCH (a)-[r:RELATED_TO|LINKED_TO]->(b:Concept)
  WITH a, b, r LIMIT $scanned
  WITH a, b, r WHERE b <> a AND b.concept_id IN $concept_ids
  WITH b, toLower(r.type) AS folded, min(r.type) AS type, collect(DISTINCT r.source_id) AS stated
  RETURN b.concept_id AS object, type, stated
}
RETURN concept_id AS subject, type, object, stated[..$most_sources] AS stated, size(stated) AS support,
       COUNT { (a)-[:RELATED_TO|LINKED_TO]->() } > $scanned AS cut
ORDER BY support DESC, subject, object, type
LIMIT $limit
