// Sources that are pictures, with their files. Those of a picture that was there before may have no use any more. Files
// that are not held any more may have gone, and others may have been made, which nobody has written yet.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WITH s, row, s.storage_key AS before, coalesce(s.storage_key <> row.image.storage_key, true) AS changed
SET s:Image, s += row.image
WITH s, row, before, changed
CALL (s, row) {
  MATCH (s)-[r:STORED_AS|SHOWN_AS]->(was:Blob)
  WHERE NOT was.key IN [row.image.storage_key, row.image.thumbnail_key]
  SET was.touched_at = datetime.realtime(), was:LooseBlob
  DELETE r
}
MATCH (file:Blob {key: row.image.storage_key})
MATCH (thumbnail:Blob {key: row.image.thumbnail_key})
SET file.touched_at = datetime.realtime(), thumbnail.touched_at = datetime.realtime()
WITH s, row, before, changed, file, thumbnail
WHERE row.hold IS NULL OR all(blob IN [file, thumbnail] WHERE EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(blob) })
MERGE (s)-[:STORED_AS]->(file)
MERGE (s)-[:SHOWN_AS]->(thumbnail)
RETURN count(s) AS written, collect(CASE WHEN changed THEN s.document_id END) AS changed,
       collect(CASE WHEN changed AND before IS NOT NULL THEN s.source_id END) AS replaced
