// Chunks of some sources that an earlier text or configuration made.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space AND NOT c.chunk_id IN $keep
WITH DISTINCT c
DETACH DELETE c
