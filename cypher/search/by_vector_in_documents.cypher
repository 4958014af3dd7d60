// The passages of a space nearest to a vector, of some documents; the filter runs inside the index.
// The index answers with quantised vectors; the exact cosine finds the nearest among its candidates. A chunk stands
// for the sources it covers, the first one first.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector WHERE n.document_id IN $document_ids LIMIT $candidates) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
WHERE similarity IS NOT NULL // one that loses its vector just now
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
