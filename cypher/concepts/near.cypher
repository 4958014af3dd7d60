// The concepts of an ontology nearest to each of some, by the vectors of one space, of those that are near enough; the
// index gives the concept itself too.
CYPHER 25
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WHERE c[$property] IS NOT NULL
WITH c, c[$property] AS own
CALL (c, own) {
  MATCH (n:Concept)
  SEARCH n IN (VECTOR INDEX concept_embedding FOR own WHERE n.ontology = $ontology LIMIT $limit) SCORE AS approximate
  WITH n, 2 * vector.similarity.cosine(n[$property], own) - 1 AS similarity
  WHERE similarity >= $least AND n.concept_id <> c.concept_id
  RETURN n, similarity
}
RETURN c.concept_id AS concept_id, c.label AS label, c.search_terms AS terms, c.text_hash AS text_hash,
       n.concept_id AS near_id, n.label AS near_label, n.search_terms AS near_terms, n.text_hash AS near_text_hash,
       similarity
ORDER BY similarity DESC, concept_id, near_id
