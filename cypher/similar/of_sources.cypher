// Some sources with the vectors that answer for them: their own, or those of their chunks. As values of the type VECTOR:
// a list of numbers takes the driver ten times as long.
CYPHER 25
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WITH s, coalesce($spaces[s.ontology], $new) AS space
WITH s, space, $properties[space] AS property
RETURN s.source_id AS source_id,
       CASE WHEN s[property] IS NOT NULL THEN vector(s[property], size(s[property]), FLOAT32) END AS vector,
       CASE WHEN s[property] IS NOT NULL THEN [] ELSE COLLECT {
         MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = space AND c[property] IS NOT NULL
         WITH c, COLLECT { MATCH (c)-[:CHUNK_OF]->(part:Source) RETURN part.paragraph ORDER BY part.paragraph } AS places
         ORDER BY places[0], c.offset, c.chunk_id
         RETURN {chunk_id: c.chunk_id, vector: vector(c[property], size(c[property]), FLOAT32)}
       } END AS chunks
