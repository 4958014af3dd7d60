// The concepts that full text finds, with their similarity where question and concept have vectors of one space.
// Of words that the index leaves out only the filter would be asked, which scores nothing.
CALL db.index.fulltext.queryNodes('concept_words', $query, {limit: $limit}) YIELD node AS c, score
WHERE score > 0
WITH c, score, coalesce($spaces[c.ontology], 'default') AS space
WITH c, score, $vectors[space] AS asked, c[$properties[space]] AS vector
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, COUNT { (c)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified,
       CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
            THEN 2 * vector.similarity.cosine(vector, asked) - 1 END AS similarity,
       asked IS NOT NULL AND vector IS NULL AS without_vector, score
ORDER BY score DESC, concept_id
