// One page of documents, by ontology and name: in the order of their index, so that no other is read; of several
// ontologies those before the page are.
CYPHER 25
CALL () {
  WHEN $ontologies IS NULL THEN {
    MATCH (d:Document)
    WHERE d.ontology >= '' AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
  WHEN size($ontologies) = 1 THEN {
    MATCH (d:Document)
    WHERE d.ontology = $ontologies[0] AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
  ELSE {
    MATCH (d:Document)
    WHERE d.ontology IN $ontologies AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
}
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata
ORDER BY ontology, document
