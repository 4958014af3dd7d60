// The next blobs that may be unused, in the order of an index. Those that wait with their documents, or are held, may be
// used soon.
CALL () {
  MATCH (w:WaitingDocument)
  UNWIND w.blobs AS key
  RETURN collect(DISTINCT key) AS waiting
}
MATCH (b:LooseBlob)
USING INDEX b:LooseBlob(key)
WHERE b.key > $after AND NOT b.key IN waiting AND NOT EXISTS {
  MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime()
}
RETURN b.key AS key ORDER BY b.key LIMIT $limit
