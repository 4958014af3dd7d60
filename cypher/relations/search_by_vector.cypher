// The relationships of a space nearest to a vector, of some ontologies; the filter runs inside the index, which answers
// with quantised vectors: the exact cosine puts its answers in their right order.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id
