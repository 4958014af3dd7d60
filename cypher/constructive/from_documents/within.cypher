// As `constructive/within`, of concepts in very many sources, from the other side: of some documents so many sources
// are looked at, and it is told whether these are all.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources
}
RETURN sources <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (s)<-[:APPEARS_IN]-(c:Concept)
  WHERE c.concept_id IN $ids
  RETURN DISTINCT c.concept_id
} AS found
