// The passages nearest to a vector of those whose sources fit conditions, each compared: of some documents, of some
// ontologies, or of all. Images alone are compared so in any case: there are few beside passages, and an index would have
// to be asked for nearly everything to find them. A chunk stands for the first source that it covers and that fits.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.document_id IN $document_ids AND s.paragraph >= 0 RETURN s
  }
  WHEN $image = true THEN { MATCH (s:Image) WHERE $ontologies IS NULL OR s.ontology IN $ontologies RETURN s }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0 RETURN s
  }
  ELSE { MATCH (s:Source) RETURN s }
}
WITH s
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
CALL (s) {
  WITH s WHERE s[$property] IS NOT NULL
  RETURN s AS n
  UNION ALL
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WHERE c.space = $space AND c[$property] IS NOT NULL
  RETURN c AS n
}
WITH DISTINCT n
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
WHERE similarity IS NOT NULL
ORDER BY similarity DESC LIMIT $limit
OPTIONAL MATCH (n)-[:CHUNK_OF]->(part:Source)
WITH n, similarity, part ORDER BY part.paragraph
WITH n, similarity, collect(part) AS parts
WITH n, similarity, parts, CASE WHEN n:Source THEN n
     ELSE [part IN parts WHERE ($image IS NULL OR part:Image = $image) AND fits(part)][0] END AS s
WHERE s IS NOT NULL
OPTIONAL MATCH (n)-[:CHILD_OF]->(parent:Chunk)
WITH n, s, parts, parent, similarity ORDER BY similarity DESC, s.source_id, n.offset
RETURN collect({
  source_id: s.source_id, ontology: s.ontology, document_id: s.document_id,
  chunk_id: n.chunk_id, offset: n.offset, end_offset: n.end_offset,
  covers: [part IN parts | part.source_id], parent_id: parent.chunk_id, similarity: similarity, image: s:Image
}) AS found
