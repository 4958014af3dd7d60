// Documents are a folder's from now on, but for those that are another's, which are given; what their files look
// like is remembered.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
OPTIONAL MATCH (other:Folder {folder_id: d.folder_id}) WHERE other.folder_id <> $folder_id
FOREACH (_ IN CASE WHEN other IS NULL THEN [1] ELSE [] END |
  SET d.folder_id = $folder_id, d.file_stamp = row.stamp, d.file_hash = row.file_hash,
      d.file_content = d.content_hash)
WITH other
WHERE other IS NOT NULL
RETURN other.path AS taken_by
