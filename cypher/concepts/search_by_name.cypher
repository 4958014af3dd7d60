// The concepts that go by a name exactly: a label, a search term, or what one was called that was merged into them.
UNWIND $name_ids AS name_id
MATCH (:ConceptName {name_id: name_id})-[:NAMES]->(c:Concept)
WITH DISTINCT c, coalesce($spaces[c.ontology], 'default') AS space
WITH c, $vectors[space] AS asked, c[$properties[space]] AS vector
WITH c, asked, vector, COUNT { (c)-[:APPEARS_IN]->() } AS sources
ORDER BY sources DESC, c.concept_id LIMIT $limit
RETURN collect({
  concept_id: c.concept_id, ontology: c.ontology, label: c.label, description: c.description,
  search_terms: c.search_terms, sources: sources, verified: EXISTS { (c)-[:EVIDENCED_BY]->() },
  similarity: CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
                   THEN 2 * vector.similarity.cosine(vector, asked) - 1 END,
  without_vector: asked IS NOT NULL AND vector IS NULL
}) AS found
