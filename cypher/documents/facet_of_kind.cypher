// How many documents have passages, and how many have images. The documents are named, or all of some ontologies.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) RETURN d }
}
WITH d, COUNT { MATCH (s:Image) WHERE s.document_id = d.document_id } AS images
RETURN count(CASE WHEN d.sources > images THEN d END) AS passage, count(CASE WHEN images > 0 THEN d END) AS image
