// The pictures of a space nearest to a vector, each compared: there are few beside passages, and an index would have to be
// asked for nearly everything to find them. Of some ontologies or documents, or of all.
CYPHER 25
MATCH (s:Image)
WHERE ($ontologies IS NULL OR s.ontology IN $ontologies) AND ($document_ids IS NULL OR s.document_id IN $document_ids)
CALL (s) {
  WITH s WHERE s[$property] IS NOT NULL
  RETURN s AS n
  UNION ALL
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WHERE c.space = $space AND c[$property] IS NOT NULL
  RETURN c AS n
}
WITH n, s, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
WHERE similarity IS NOT NULL
ORDER BY similarity DESC LIMIT $limit
OPTIONAL MATCH (n)-[:CHUNK_OF]->(part:Source)
WITH n, s, similarity, part ORDER BY part.paragraph
WITH n, s, similarity, collect(part) AS parts
OPTIONAL MATCH (n)-[:CHILD_OF]->(parent:Chunk)
WITH n, s, parts, parent, similarity ORDER BY similarity DESC, s.source_id, n.offset
RETURN collect({
  source_id: s.source_id, ontology: s.ontology, document_id: s.document_id,
  chunk_id: n.chunk_id, offset: n.offset, end_offset: n.end_offset,
  covers: [part IN parts | part.source_id], parent_id: parent.chunk_id, similarity: similarity, image: true
}) AS found
