// Chunks of these ids that are of other documents or spaces than they should be.
UNWIND $rows AS row
MATCH (c:Chunk {chunk_id: row.chunk_id})
WHERE c.document_id <> row.document_id OR c.space <> $space
RETURN c.chunk_id AS chunk_id
LIMIT 1
