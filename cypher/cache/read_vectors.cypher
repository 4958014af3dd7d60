// Vectors that were made before; those that are used stay.
UNWIND $keys AS key
MATCH (v:CachedVector {key: key})
RETURN v.key AS key, v.vector AS vector
