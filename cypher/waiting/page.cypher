// One page of what waits, by ontology and name.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
WITH w ORDER BY w.awaits, w.document SKIP $offset LIMIT $limit
RETURN w.document_id AS document_id, w.awaits AS ontology, w.document AS document, w.title AS title,
       w.format AS format, w.characters AS characters, w.sources AS sources, w.given_at AS given_at,
       w.beginning AS beginning, EXISTS { (:Document {document_id: w.document_id}) } AS replaces
ORDER BY ontology, document
