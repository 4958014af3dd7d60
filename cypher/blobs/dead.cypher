// Blobs that have gone, and whose files are to be deleted. There are never many: who finds some deletes their files
// before it makes more.
MATCH (d:DeadBlob)
RETURN d.key AS key, d.generation AS generation LIMIT $limit
