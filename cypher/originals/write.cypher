// The files that documents were made of, where they are still held: others may have gone, or not be written yet.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MATCH (file:Blob {key: row.key})
SET file.touched_at = datetime.realtime()
WITH d, row, file
WHERE row.hold IS NULL OR EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(file) }
MERGE (d)-[:ORIGINAL]->(file)
RETURN count(d) AS written
