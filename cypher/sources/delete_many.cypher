// Sources go with their chunks. They are locked before their chunks are looked for: a batch that was embedding
// them may just have made some. Sources that shared such a chunk are looked at again. Files of pictures may have no use
// any more. Proposals go with them; of one that was decided stays that it was, without a word of its text.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
SET s.held_at = datetime.realtime()
WITH collect(s) AS gone
CALL (gone) {
  UNWIND gone AS s
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WITH DISTINCT c
  CALL (c) {
    MATCH (c)-[:CHUNK_OF]->(other:Source)
    SET other[CASE c.space WHEN 'default' THEN 'embedded_with' ELSE 'embedded_with_' + c.space END] = null,
        other.unembedded = true
    RETURN collect(other.source_id) AS shared
  }
  DETACH DELETE c
  RETURN reduce(all = [], each IN collect(shared) | all + each) AS shared
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)-[:STORED_AS|SHOWN_AS]->(b:Blob)
  WITH DISTINCT b ORDER BY b.key
  SET b.touched_at = datetime.realtime(), b:LooseBlob
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
CALL (gone) { UNWIND gone AS s DETACH DELETE s }
RETURN size(gone) AS sources, shared
