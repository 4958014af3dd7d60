// Contexts that were written before; those that are used stay.
UNWIND $keys AS key
MATCH (x:CachedContext {key: key})
SET x.used_at = datetime.realtime()
RETURN x.key AS key, x.text AS text
