// Chunks belong to a space and may cover several sources.
MATCH (c:Chunk)
WHERE c.space IS NULL
SET c.space = 'default', c.sources = 1, c.end_offset = c.offset + c.length, c.length = null
