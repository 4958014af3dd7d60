// Sources go with their chunks.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
OPTIONAL MATCH (c:Chunk)-[:CHUNK_OF]->(s)
WITH s, collect(c) AS chunks
FOREACH (chunk IN chunks | DETACH DELETE chunk)
DETACH DELETE s
RETURN count(*) AS sources
