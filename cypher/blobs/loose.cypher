// The next blobs that may be unused. Those that wait with their documents, or are held, may be soon.
CALL () {
  MATCH (w:WaitingDocument)
  UNWIND w.blobs AS key
  RETURN collect(DISTINCT key) AS waiting
}
MATCH (b:LooseBlob)
WHERE b.key > $after AND NOT b.key IN waiting AND NOT EXISTS {
  MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime()
}
RETURN b.key AS key ORDER BY key LIMIT $limit
