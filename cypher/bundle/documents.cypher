// Documents of an ontology behind a name, in the order of their names, with what is said of each; one that is only
// just being stored is not there yet.
MATCH (d:Document)
USING INDEX SEEK d:Document(ontology, document)
WHERE d.ontology = $ontology AND d.document > $after AND d.content_hash IS NOT NULL
WITH d ORDER BY d.ontology, d.document
LIMIT $limit
RETURN d.document_id AS document_id, d.document AS document, d.title AS title, d.uri AS uri, d.format AS format,
       d.content_hash AS content_hash, d.characters AS characters, coalesce(d.preface, '') AS preface,
       d.metadata AS metadata, d.changes AS changes, d.sources AS sources, d.written_by AS version,
       head([(d)-[:ORIGINAL]->(b:Blob) | b.key]) AS original
