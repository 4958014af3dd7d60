// What some chunks say: the parts of the sources they cover, in reading order.
UNWIND $chunk_ids AS id
MATCH (c:Chunk {chunk_id: id})-[:CHUNK_OF]->(s:Source)
WITH c, s ORDER BY s.paragraph
WITH c, collect({source_id: s.source_id, start: s.start, full_text: s.full_text}) AS parts
RETURN c.chunk_id AS chunk_id, c.offset AS offset, c.end_offset AS end_offset, parts
