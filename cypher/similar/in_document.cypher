// The sources of a document nearest to a place in reading order, before it and behind it.
CYPHER 25
CALL () {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id = $document_id AND s.paragraph > $paragraph
    AND ($image IS NULL OR s:Image = $image) AND fits(s)
  RETURN s ORDER BY s.paragraph LIMIT $limit
  UNION ALL
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id = $document_id AND s.paragraph >= 0 AND s.paragraph < $paragraph
    AND ($image IS NULL OR s:Image = $image) AND fits(s)
  RETURN s ORDER BY s.paragraph DESC LIMIT $limit
}
WITH s, abs(s.paragraph - $paragraph) AS distance
RETURN s.source_id AS source_id, distance
ORDER BY distance, s.paragraph LIMIT $limit
