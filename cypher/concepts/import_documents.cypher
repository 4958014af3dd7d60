// Documents of an ontology that have some names or titles, for importing concepts.
CALL () {
  UNWIND $names AS name
  MATCH (d:Document {ontology: $ontology, document: name})
  RETURN name AS wanted, d.document_id AS document_id, true AS by_name
  UNION
  MATCH (d:Document {ontology: $ontology})
  WHERE d.document >= '' AND d.title IN $names
  RETURN d.title AS wanted, d.document_id AS document_id, false AS by_name
}
RETURN wanted, document_id, by_name
ORDER BY document_id
