// Sources of documents that say the same as before and are no pictures any more.
UNWIND $document_ids AS document_id
MATCH (s:Image {document_id: document_id})
WHERE NOT s.source_id IN $source_ids
REMOVE s:Image, s.storage_key, s.thumbnail_key, s.content_type, s.width, s.height, s.bytes, s.perceptual_hash
WITH s
MATCH (s)-[r:STORED_AS|SHOWN_AS]->(b:Blob)
SET b.touched_at = datetime.realtime(), b:LooseBlob
DELETE r
RETURN collect(DISTINCT s.source_id) AS forgotten
