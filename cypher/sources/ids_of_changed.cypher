// The ids of the sources of those documents that are there and say something else than what comes. By their
// relationships: while there are few nodes, the planner compares all sources with all documents otherwise.
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
WHERE d.content_hash <> row.content_hash
MATCH (s:Source)-[:PART_OF]->(d)
RETURN s.source_id AS source_id
ORDER BY source_id
