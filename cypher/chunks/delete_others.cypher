// Chunks of some sources that an earlier text or configuration made. Other sources that they cover lose them too, and
// are looked at again.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space AND NOT c.chunk_id IN $keep
WITH DISTINCT c
CALL (c) {
  MATCH (c)-[:CHUNK_OF]->(other:Source)
  WHERE NOT other.source_id IN $source_ids
  SET other[$mark_property] = null, other.unembedded = true
}
DETACH DELETE c
