// What of a folder waits or was rejected.
MATCH (w:WaitingDocument)
WHERE w.folder_id = $folder_id AND w.document_id >= ''
RETURN w.document AS document
