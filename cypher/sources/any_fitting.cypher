// Whether any source fits conditions: of some documents, of some ontologies, or of all.
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
RETURN s.source_id AS source_id LIMIT 1
