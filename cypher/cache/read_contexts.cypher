// Contexts that were written before.
UNWIND $keys AS key
MATCH (x:CachedContext {key: key})
RETURN x.key AS key, x.text AS text
