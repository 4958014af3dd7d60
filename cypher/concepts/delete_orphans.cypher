// Concepts that no source carries any more go, with their names. Whoever asks has locked them.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WHERE NOT EXISTS { (c)-[:APPEARS_IN]->(:Source) }
OPTIONAL MATCH (n:ConceptName)-[:NAMES]->(c)
OPTIONAL MATCH (c)-[:EVIDENCED_BY]->(i:Instance)
WITH c, collect(DISTINCT n) AS names, collect(DISTINCT i) AS quotes
FOREACH (n IN names | DETACH DELETE n)
FOREACH (i IN quotes | DETACH DELETE i)
DETACH DELETE c
