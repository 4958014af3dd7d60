// Vectors, only where the source still says what was embedded; chunks of an earlier text or model go. The source
// is locked first, so that whoever deletes it meanwhile comes before or after, not between.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WHERE s.content_hash = row.content_hash
SET s.embedded_with = $fingerprint, s.embedded_at = datetime.realtime()
WITH s, row
OPTIONAL MATCH (old:Chunk)-[:CHUNK_OF]->(s)
WITH s, row, collect(old) AS olds
FOREACH (old IN olds | DETACH DELETE old)
WITH s, row
CALL db.create.setNodeVectorProperty(s, 'embedding', toFloatList(row.vector))
RETURN count(s) AS written
