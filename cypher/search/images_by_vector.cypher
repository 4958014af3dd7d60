// The pictures of a space nearest to a vector, of some ontologies; the filter runs inside the index. The index answers with
// quantised vectors; the exact cosine orders what it gives. Their words are measured by the question's vector, if any.
CYPHER 25
MATCH (n:Image)
SEARCH n IN (VECTOR INDEX image_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS score
WHERE score IS NOT NULL // one that loses its vector just now
WITH n, score, coalesce($spaces[n.ontology], 'default') AS space
WITH n, score, $vectors[space] AS asked, $properties[space] AS words
WITH n, score, CASE WHEN asked IS NOT NULL AND n[words] IS NOT NULL
       THEN 2 * vector.similarity.cosine(n[words], asked) - 1 END AS similarity
ORDER BY score DESC, n.source_id
RETURN collect({
  source_id: n.source_id, ontology: n.ontology, document_id: n.document_id, chunk_id: null, similarity: similarity, score: score
}) AS found
