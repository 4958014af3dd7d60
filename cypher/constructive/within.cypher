// Which of some concepts appear in a source of some documents, and which have so many sources that not all were looked
// at.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
USING INDEX SEEK c:Concept(concept_id)
WITH id, c, EXISTS {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH s LIMIT $scanned
  WHERE s.document_id IN $document_ids
  RETURN s
} AS appears
WITH id, appears, COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS hub
WHERE appears OR hub
RETURN id AS concept_id, appears
