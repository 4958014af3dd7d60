// Keeps blobs that are about to be written and used, until the hold is released or ends by itself. A blob is loose
// until it is known to be used. The property is written first: it locks the blob against whoever collects it.
MERGE (h:BlobHold {hold_id: $hold_id})
SET h.until = datetime.realtime() + duration({seconds: $seconds})
WITH h
UNWIND $keys AS key
MERGE (b:Blob {key: key})
SET b.touched_at = datetime.realtime(), b:LooseBlob
MERGE (h)-[:HOLDS]->(b)
