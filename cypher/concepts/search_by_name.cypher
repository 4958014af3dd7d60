// The concepts that go by a name exactly: a label, a search term, or what one was called that was merged into them.
UNWIND $name_ids AS name_id
MATCH (:ConceptName {name_id: name_id})-[:NAMES]->(c:Concept)
WITH DISTINCT c, coalesce($spaces[c.ontology], 'default') AS space
WITH c, $vectors[space] AS asked, c[$properties[space]] AS vector
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, COUNT { (c)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified,
       CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
            THEN 2 * vector.similarity.cosine(vector, asked) - 1 END AS similarity,
       asked IS NOT NULL AND vector IS NULL AS without_vector
ORDER BY sources DESC, concept_id
LIMIT $limit
