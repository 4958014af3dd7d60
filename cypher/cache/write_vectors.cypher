// Vectors to remember.
UNWIND $rows AS row
MERGE (v:CachedVector {key: row.key})
SET v.used_at = datetime.realtime(), v.vector = row.vector
RETURN count(v) AS written
