// The relationships that sources of some documents state, nearest to a vector by exact cosines. Of the documents so
// many sources and relationships are looked at, and it is told whether these are all.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources, sum(COUNT {
    MATCH (:Concept)-[n:RELATED_TO]->(:Concept)
    USING INDEX n:RELATED_TO(source_id)
    WHERE n.source_id = s.source_id
  }) AS relations
}
RETURN sources <= $scanned AND relations <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (:Concept)-[n:RELATED_TO]->(:Concept)
  USING INDEX n:RELATED_TO(source_id)
  WHERE n.source_id = s.source_id
  WITH n LIMIT $scanned
  WHERE n.ontology IN $ontologies AND ($types IS NULL OR n.type_key IN $types)
  WITH n, n[$property] AS vector WHERE vector IS NOT NULL
  WITH n, 2 * vector.similarity.cosine(vector, $vector) - 1 AS similarity
  ORDER BY similarity DESC, n.relation_id LIMIT $limit
  RETURN {relation_id: n.relation_id, similarity: similarity}
} AS found
