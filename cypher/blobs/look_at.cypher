// Whether blobs are used, and whether they may be soon; all are locked before any is looked at, so that no transaction
// that uses or frees one is half seen.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
SET b.touched_at = datetime.realtime()
WITH collect(b) AS blobs
CALL () {
  MATCH (w:WaitingDocument)
  UNWIND w.blobs AS key
  RETURN collect(DISTINCT key) AS waiting
}
UNWIND blobs AS b
RETURN b.key AS key, EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used,
       b.key IN waiting OR EXISTS { MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime() } AS wanted
