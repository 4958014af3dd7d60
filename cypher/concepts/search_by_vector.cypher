// The concepts of a space nearest to a vector, of some ontologies; the filter runs inside the index.
// The index answers with quantised vectors; the exact cosine puts its answers in their right order.
CYPHER 25
MATCH (n:Concept)
SEARCH n IN (VECTOR INDEX concept_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
RETURN n.concept_id AS concept_id, n.ontology AS ontology, n.label AS label, n.description AS description,
       n.search_terms AS search_terms, COUNT { (n)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (n)-[:EVIDENCED_BY]->() } AS verified,
       2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, concept_id
