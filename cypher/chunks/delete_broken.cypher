// Chunks over several sources that do not stand side by side, in their order, any more; their sources are looked at
// again.
UNWIND $document_ids AS id
MATCH (part:Source {document_id: id})
WHERE part.paragraph >= 0
MATCH (c:Chunk)-[:CHUNK_OF]->(part)
WHERE c.sources > 1
WITH DISTINCT c
MATCH (c)-[:CHUNK_OF]->(s:Source)
WITH c, s ORDER BY s.paragraph
WITH c, collect(s) AS parts, count(s) AS there, min(s.paragraph) AS first, max(s.paragraph) AS last
WHERE there <> c.sources OR last - first + 1 <> there OR [s IN parts | s.source_id] <> c.source_ids
FOREACH (s IN parts |
  SET s[CASE c.space WHEN 'default' THEN 'embedded_with' ELSE 'embedded_with_' + c.space END] = null,
      s.unembedded = true)
WITH c, [s IN parts | s.source_id] AS shared
DETACH DELETE c
RETURN shared
