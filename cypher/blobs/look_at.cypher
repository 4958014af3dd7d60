// Whether a blob is used, and whether it may be soon; locked before it is looked at, so that no transaction that uses or
// frees it is half seen.
MATCH (b:Blob {key: $key})
SET b.touched_at = datetime.realtime()
WITH b
RETURN EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used,
       EXISTS { MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime() } AS held,
       EXISTS { MATCH (w:WaitingDocument) WHERE $key IN w.blobs } AS waits
