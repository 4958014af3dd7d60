// One portion of the documents that came from a folder.
MATCH (d:Document)
WHERE d.folder_id = $folder_id AND d.document_id > $after
RETURN d.document_id AS document_id, d.document AS document
ORDER BY d.document_id
LIMIT $limit
