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
