// The concepts that full text finds, with their similarity where question and concept have vectors of one space.
// Of words that the index leaves out only the filter would be asked, which scores nothing.
CALL db.index.fulltext.queryNodes('concept_words', $query, {limit: $limit}) YIELD node AS c, score
WHERE score > 0
WITH c, score, coalesce($spaces[c.ontology], 'default') AS space
WITH c, score, $vectors[space] AS asked, c[$properties[space]] AS vector ORDER BY score DESC, c.concept_id
RETURN collect({
  concept_id: c.concept_id, ontology: c.ontology, label: c.label, description: c.description,
  search_terms: c.search_terms, sources: COUNT { (c)-[:APPEARS_IN]->() },
  verified: EXISTS { (c)-[:EVIDENCED_BY]->() },
  similarity: CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
                   THEN 2 * vector.similarity.cosine(vector, asked) - 1 END,
  without_vector: asked IS NOT NULL AND vector IS NULL, score: score
}) AS found
