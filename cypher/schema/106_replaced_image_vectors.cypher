// The next portion of pictures, in the order of their ids: vectors of another file than theirs go, with their marks.
CYPHER 25
MATCH (s:Image)
WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
WITH collect(s) AS images, max(s.source_id) AS after
CALL (images) {
  MATCH (e:EmbeddingSpace {modality: 'image'})
  UNWIND images AS s
  WITH s, 'embedded_with_' + e.slug AS mark, 'embedding_' + e.slug AS vector
  WHERE s[mark] IS NOT NULL AND NOT s[mark] ENDS WITH s.storage_key
  SET s[mark] = null, s[vector] = null
}
RETURN after
