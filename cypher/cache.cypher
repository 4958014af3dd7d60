// name: prune_contexts
// Delete a batch of the least recently used contexts above the limit.
MATCH (x:CachedContext)
WITH count(x) - $bound AS over
WHERE over > 0
MATCH (x:CachedContext)
WHERE x.used_at IS NOT NULL
WITH x, over ORDER BY x.used_at LIMIT 5000
WITH over, collect(x) AS oldest
UNWIND oldest[..over] AS x
DELETE x
RETURN count(*) AS pruned

// name: prune_vectors
// Delete a batch of the least recently used vectors above the limit.
MATCH (v:CachedVector)
WITH count(v) - $bound AS over
WHERE over > 0
MATCH (v:CachedVector)
WHERE v.used_at IS NOT NULL
WITH v, over ORDER BY v.used_at LIMIT 5000
WITH over, collect(v) AS oldest
UNWIND oldest[..over] AS v
DELETE v
RETURN count(*) AS pruned

// name: read_contexts
// Return cached contexts and mark them as used.
UNWIND $keys AS key
MATCH (x:CachedContext {key: key})
SET x.used_at = datetime.realtime()
RETURN x.key AS key, x.text AS text

// name: read_vectors
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
RETURN v.key AS key, v.vector AS vector

// name: touch_vectors
// Mark vectors as used.
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
SET v.used_at = datetime.realtime()

// name: write_contexts
// Cache contexts, because a language model costs money.
UNWIND $rows AS row
MERGE (x:CachedContext {key: row.key})
SET x.text = row.text, x.used_at = datetime.realtime()

// name: write_vectors
UNWIND $rows AS row
MERGE (v:CachedVector {key: row.key})
SET v.used_at = datetime.realtime(), v.vector = row.vector
