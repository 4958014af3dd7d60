// One page of documents, by ontology and name.
MATCH (d:Document)
WHERE $ontology IS NULL OR d.ontology = $ontology
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata
ORDER BY ontology, document
SKIP $offset LIMIT $limit
