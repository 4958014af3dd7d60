// Vectors to remember.
CYPHER 25
UNWIND $rows AS row
MERGE (v:CachedVector {key: row.key})
SET v.used_at = datetime.realtime()
WITH v, row
CALL db.create.setNodeVectorProperty(v, 'vector', toFloatList(row.vector))
RETURN count(v) AS written
