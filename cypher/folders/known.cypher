// What is remembered of the files behind some documents, stored or waiting, and whether another folder has the name.
UNWIND $document_ids AS id
OPTIONAL MATCH (d:Document {document_id: id})
OPTIONAL MATCH (w:WaitingDocument {document_id: id})
WITH id, d, w, coalesce(w.folder_id = $folder_id, false) AS waits
WHERE d IS NOT NULL OR w IS NOT NULL
OPTIONAL MATCH (other:Folder)
WHERE other.folder_id = coalesce(d.folder_id, w.folder_id) AND other.folder_id <> $folder_id
RETURN id AS document_id, waits,
       waits OR (d.folder_id = $folder_id AND d.content_hash = d.file_content) AS as_filed,
       CASE WHEN waits THEN w.file_stamp ELSE d.file_stamp END AS stamp,
       CASE WHEN waits THEN w.file_hash ELSE d.file_hash END AS file_hash, other.path AS taken_by
