// A document is a folder's from now on, unless it is another's; what its file looks like is remembered.
MATCH (d:Document {document_id: $document_id})
OPTIONAL MATCH (other:Folder {folder_id: d.folder_id}) WHERE other.folder_id <> $folder_id
FOREACH (_ IN CASE WHEN other IS NULL THEN [1] ELSE [] END |
  SET d.folder_id = $folder_id, d.file_stamp = $stamp, d.file_hash = $file_hash, d.file_content = d.content_hash)
RETURN other.path AS taken_by
