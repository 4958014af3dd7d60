// A folder is followed no more: what waits goes on waiting, what was rejected is forgotten.
MATCH (w:WaitingDocument)
WHERE w.folder_id = $folder_id AND w.document_id >= ''
SET w.folder_id = null, w.file_stamp = null, w.file_hash = null
WITH w WHERE w.awaits IS NULL
DETACH DELETE w
