// Some vectors of an ontology in a slot, of sources or their chunks, to look whether the index finds them.
UNWIND $places AS place
CALL (place) {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id >= place AND s.paragraph >= 0 AND s[$mark_property] = $mark
  RETURN s LIMIT 1
}
WITH DISTINCT s
WITH s, CASE WHEN s[$property] IS NOT NULL THEN null ELSE COLLECT {
       MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = $key AND c[$property] IS NOT NULL RETURN c LIMIT 1
     }[0] END AS c
RETURN s.source_id AS source_id, c.chunk_id AS chunk_id, coalesce(s[$property], c[$property]) AS vector
