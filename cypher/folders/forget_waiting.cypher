// Files have gone that waited or were rejected.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
WHERE w.folder_id = $folder_id
DETACH DELETE w
