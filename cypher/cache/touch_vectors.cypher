// These were used again.
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
SET v.used_at = datetime.realtime()
