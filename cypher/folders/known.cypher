// What is remembered of the files behind some documents, and whether another folder has the name.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
OPTIONAL MATCH (other:Folder {folder_id: d.folder_id}) WHERE other.folder_id <> $folder_id
RETURN d.document_id AS document_id, d.folder_id = $folder_id AND d.content_hash = d.file_content AS as_filed,
       d.file_stamp AS stamp, d.file_hash AS file_hash, other.path AS taken_by
