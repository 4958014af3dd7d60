// The first other documents of an ontology that say what some of a call say, which are told apart by the caller.
UNWIND $texts AS text
CALL (text) {
  MATCH (d:Document)
  // while statistics lag, as in a first large batch, the planner goes through all documents for each text
  USING INDEX SEEK d:Document(ontology, text_hash, document)
  WHERE d.ontology = $ontology AND d.text_hash = text AND d.document >= '' AND NOT d.document_id IN $ours
  RETURN d.document AS document ORDER BY document LIMIT $limit
}
RETURN text, collect(document) AS documents
