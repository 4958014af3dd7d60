// Chunks of a space that cover any of some sources, with all that they cover and the chunks that they are read for.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space
WITH DISTINCT c
RETURN c.chunk_id AS chunk_id, c.document_id AS document_id, c.offset AS offset, c.end_offset AS end_offset,
       c[$property] AS vector, [(child:Chunk)-[:CHILD_OF]->(c) | child.chunk_id] AS children,
       COLLECT { MATCH (c)-[:CHUNK_OF]->(s:Source) RETURN s.paragraph ORDER BY s.paragraph } AS paragraphs
ORDER BY chunk_id
