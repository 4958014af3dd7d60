// Some blobs, whose files the right store has; and some that have gone, whose files it may still have.
MATCH (b:Blob)
RETURN b.key AS key, b.generation AS generation, false AS dead LIMIT $limit
UNION ALL
MATCH (d:DeadBlob)
RETURN d.key AS key, d.generation AS generation, true AS dead LIMIT $limit
