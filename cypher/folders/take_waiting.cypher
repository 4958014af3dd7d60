// What waits is a folder's, and what its files look like is remembered.
UNWIND $rows AS row
MATCH (w:WaitingDocument {document_id: row.document_id})
SET w.folder_id = $folder_id, w.file_stamp = row.stamp, w.file_hash = row.file_hash
