// Files that documents were made of before and are not any more: they may have no use now.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})-[r:ORIGINAL]->(was:Blob)
WHERE row.key IS NULL OR was.key <> row.key
SET was.touched_at = datetime.realtime(), was:LooseBlob
DELETE r
