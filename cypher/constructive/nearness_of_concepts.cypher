// How near some concepts are to a question, where both have vectors of one space.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH c, coalesce($spaces[c.ontology], 'default') AS space
WITH c, $vectors[space] AS asked, c[$properties[space]] AS vector
WHERE asked IS NOT NULL AND vector IS NOT NULL
RETURN c.concept_id AS concept_id, 2 * vector.similarity.cosine(vector, asked) - 1 AS similarity
