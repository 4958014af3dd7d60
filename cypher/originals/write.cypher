// The files that documents were made of.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MATCH (file:Blob {key: row.key})
SET file.touched_at = datetime.realtime()
MERGE (d)-[:ORIGINAL]->(file)
RETURN count(d) AS written
