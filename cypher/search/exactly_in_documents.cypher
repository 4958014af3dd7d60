// The passages of some documents nearest to a vector, each compared: no index of vectors, nothing approximate.
CYPHER 25
CALL () {
  MATCH (s:Source) WHERE s.document_id IN $document_ids AND s.paragraph >= 0 AND s[$property] IS NOT NULL
  RETURN s AS n
  UNION ALL
  MATCH (s:Source)<-[:CHUNK_OF]-(c:Chunk) WHERE s.document_id IN $document_ids AND s.paragraph >= 0 AND c.space = $space AND c[$property] IS NOT NULL
  RETURN DISTINCT c AS n
}
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
WHERE similarity IS NOT NULL
ORDER BY similarity DESC LIMIT $limit
OPTIONAL MATCH (n)-[:CHUNK_OF]->(part:Source)
WITH n, similarity, part ORDER BY part.paragraph
WITH n, similarity, collect(part) AS parts
WITH n, similarity, parts, CASE WHEN n:Source THEN n ELSE parts[0] END AS s
WHERE s IS NOT NULL
OPTIONAL MATCH (n)-[:CHILD_OF]->(parent:Chunk)
WITH n, s, parts, parent, similarity ORDER BY similarity DESC, s.source_id, n.offset
RETURN collect({
  source_id: s.source_id, ontology: s.ontology, document_id: s.document_id,
  chunk_id: n.chunk_id, offset: n.offset, end_offset: n.end_offset,
  covers: [part IN parts | part.source_id], parent_id: parent.chunk_id, similarity: similarity, image: s:Image
}) AS found
