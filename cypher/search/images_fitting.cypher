// The images of a space nearest to a vector of those that fit conditions, each compared; of some ontologies, or of some
// documents. Their words are measured by the question's vector, if any.
CYPHER 25
MATCH (n:Image)
WHERE n.ontology IN $ontologies AND ($document_ids IS NULL OR n.document_id IN $document_ids) AND fits(n)
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS score
WHERE score IS NOT NULL
ORDER BY score DESC, n.source_id LIMIT $limit
WITH n, score, coalesce($spaces[n.ontology], 'default') AS space
WITH n, score, $vectors[space] AS asked, $properties[space] AS words
WITH n, score, CASE WHEN asked IS NOT NULL AND n[words] IS NOT NULL
       THEN 2 * vector.similarity.cosine(n[words], asked) - 1 END AS similarity
ORDER BY score DESC, n.source_id
RETURN collect({
  source_id: n.source_id, ontology: n.ontology, document_id: n.document_id, chunk_id: null, similarity: similarity, score: score
}) AS found
