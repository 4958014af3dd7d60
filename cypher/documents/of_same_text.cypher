// The first other documents of an ontology that say what some of a call say, which are told apart by the caller.
UNWIND $texts AS text
CALL (text) {
  MATCH (d:Document)
  WHERE d.ontology = $ontology AND d.text_hash = text AND d.document >= '' AND NOT d.document_id IN $ours
  RETURN d.document AS document ORDER BY document LIMIT $limit
}
RETURN text, collect(document) AS documents
