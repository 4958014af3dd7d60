// What is near in meaning to the concepts of most weight: the question's own, and those of its best passages, which share
// the weight of their passage. Those near share a part of the weight of the one that they are near to. Asked of the index,
// where it was not looked up when they were embedded.
CYPHER 25
CALL () {
  UNWIND $seeds AS seed
  MATCH (c:Concept {concept_id: seed.concept_id})
  RETURN c, seed.weight AS weight
  UNION ALL
  UNWIND $passages AS passage
  MATCH (s:Source {source_id: passage.source_id})
  WITH passage, COLLECT {
    MATCH (s)<-[a:APPEARS_IN]-(c:Concept) WHERE a.verified OR a.extracted_with STARTS WITH $imported RETURN c
  } AS carried
  UNWIND carried AS c
  RETURN c, passage.weight / sqrt(size(carried)) AS weight
}
WITH c, sum(weight) AS weight
WHERE c.ontology IN $ontologies AND c[$property] IS NOT NULL
WITH c, weight ORDER BY weight DESC, c.concept_id LIMIT $most
WITH c, weight, c[$property] AS own, c.ontology AS ontology
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
