// Sources go with their chunks. They are locked before their chunks are looked for: a batch that was embedding
// them may just have made some.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
SET s.embedded_with = null
WITH collect(s) AS sources
UNWIND sources AS s
OPTIONAL MATCH (c:Chunk)-[:CHUNK_OF]->(s)
WITH s, collect(c) AS chunks
FOREACH (chunk IN chunks | DETACH DELETE chunk)
DETACH DELETE s
RETURN count(*) AS sources
