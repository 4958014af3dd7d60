// The vectors of some hits: of the chunk that matched, else of the source; packed, which is ten times faster.
CYPHER 25
UNWIND $hits AS hit
OPTIONAL MATCH (c:Chunk {chunk_id: hit.chunk_id})
OPTIONAL MATCH (s:Source {source_id: hit.source_id})
WITH hit, coalesce(c[hit.property], s[hit.property]) AS vector
WHERE vector IS NOT NULL
RETURN hit.identity AS identity, vector(vector, size(vector), FLOAT32) AS vector
