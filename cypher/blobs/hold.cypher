// Keeps blobs that are about to be written and used, until the hold is released or ends by itself. A blob is loose
// until it is known to be used. One that is made now is of a generation that never was: its file has a name of its own.
// The property is written first: it locks the blob against whoever collects it.
MERGE (h:BlobHold {hold_id: $hold_id})
SET h.until = datetime.realtime() + duration({seconds: $seconds})
WITH h
UNWIND $keys AS key
MERGE (b:Blob {key: key})
ON CREATE SET b.generation = replace(randomUUID(), '-', '')
SET b.touched_at = datetime.realtime(), b:LooseBlob
MERGE (h)-[:HOLDS]->(b)
RETURN b.key AS key, b.generation AS generation,
       EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used
