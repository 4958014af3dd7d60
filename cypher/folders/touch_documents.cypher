// Files that look otherwise and say the same, as what is stored or waits.
UNWIND $rows AS row
OPTIONAL MATCH (d:Document {document_id: row.document_id})
WHERE d.folder_id = $folder_id AND d.file_hash = row.file_hash
OPTIONAL MATCH (w:WaitingDocument {document_id: row.document_id})
WHERE w.folder_id = $folder_id AND w.file_hash = row.file_hash
SET d.file_stamp = row.stamp, w.file_stamp = row.stamp
