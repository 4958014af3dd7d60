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
