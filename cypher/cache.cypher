// name: prune_contexts
// The oldest beyond the bound go, a portion at a time.
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
// The least recently used beyond the bound go, a portion at a time.
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
// Contexts that were written before; those that are used stay.
UNWIND $keys AS key
MATCH (x:CachedContext {key: key})
SET x.used_at = datetime.realtime()
RETURN x.key AS key, x.text AS text

// name: read_vectors
// Vectors that were made before; those that are used stay.
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
RETURN v.key AS key, v.vector AS vector

// name: touch_vectors
// These were used again.
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
SET v.used_at = datetime.realtime()

// name: write_contexts
// Contexts to remember: they cost money.
UNWIND $rows AS row
MERGE (x:CachedContext {key: row.key})
SET x.text = row.text, x.used_at = datetime.realtime()

// name: write_vectors
// Vectors to remember.
UNWIND $rows AS row
MERGE (v:CachedVector {key: row.key})
SET v.used_at = datetime.realtime(), v.vector = row.vector
