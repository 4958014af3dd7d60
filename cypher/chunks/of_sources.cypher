// The chunks that some sources have in a space.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space
RETURN DISTINCT c.chunk_id AS chunk_id
