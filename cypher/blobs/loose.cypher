// The next blobs that may be unused.
MATCH (b:LooseBlob)
WHERE b.key > $after AND NOT EXISTS {
  MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime()
}
RETURN b.key AS key ORDER BY key LIMIT $limit
