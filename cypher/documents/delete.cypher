// The document itself; its sources have gone before. The file that it was made of may have no use any more. A write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MATCH (d:Document {document_id: $document_id})
CALL (d) {
  MATCH (d)-[:ORIGINAL]->(b:Blob)
  SET b.touched_at = datetime.realtime(), b:LooseBlob
}
DETACH DELETE d
RETURN count(*) AS documents
