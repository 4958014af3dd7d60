// What was held is used now, or waits with its document; in the transaction that says so. Blobs are locked: who
// collects one sees what was before, or what is after.
UNWIND $hold_ids AS hold_id
MATCH (h:BlobHold {hold_id: hold_id})-[:HOLDS]->(b:Blob)
WITH h, b ORDER BY b.key
SET b.touched_at = datetime.realtime()
WITH DISTINCT h
DETACH DELETE h
