// Files of documents that are to wait which are not kept until then: neither held nor those of what waits already. Files
// that are not held any more may have gone, and others may have been made, which nobody has written yet. The property is
// written first: it locks the blob against whoever collects it.
UNWIND $rows AS row
OPTIONAL MATCH (b:Blob {key: row.key})
SET b.touched_at = datetime.realtime()
WITH row, b
WHERE b IS NULL OR NOT (
  EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(b) }
  OR EXISTS { MATCH (w:WaitingDocument {document_id: row.document_id}) WHERE row.key IN w.blobs }
)
RETURN count(*) AS missing
