// The concepts of a space nearest to a vector, of some ontologies; the filter runs inside the index.
// The index answers with quantised vectors; the exact cosine puts its answers in their right order.
CYPHER 25
MATCH (n:Concept)
SEARCH n IN (VECTOR INDEX concept_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, n.concept_id
RETURN collect({
  concept_id: n.concept_id, ontology: n.ontology, label: n.label, description: n.description,
  search_terms: n.search_terms, sources: COUNT { (n)-[:APPEARS_IN]->() },
  verified: EXISTS { (n)-[:EVIDENCED_BY]->() }, similarity: similarity
}) AS found
