// Files that look otherwise and say the same.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
WHERE d.folder_id = $folder_id AND d.file_hash = row.file_hash
SET d.file_stamp = row.stamp
