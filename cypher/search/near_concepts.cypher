// What is near in meaning to concepts that were not linked with it when they were embedded: asked of the index. Those near
// share a part of the weight of the one that they are near to.
CYPHER 25
UNWIND $concepts AS one
MATCH (c:Concept {concept_id: one.concept_id})
WHERE c[$property] IS NOT NULL
WITH c, one.weight AS weight, c[$property] AS own, c.ontology AS ontology
CALL (own, ontology) {
  MATCH (n:Concept)
  SEARCH n IN (VECTOR INDEX concept_embedding FOR own WHERE n.ontology = ontology LIMIT $limit + 1) SCORE AS approximate
  RETURN n
}
WITH c, weight, n, 2 * vector.similarity.cosine(n[$property], own) - 1 AS cosine
WHERE n <> c AND cosine >= $least
ORDER BY cosine DESC, n.concept_id
WITH c, weight, collect(n)[..$limit] AS near
UNWIND near AS n
RETURN n.concept_id AS concept_id, sum($share * weight / sqrt(size(near))) AS weight
