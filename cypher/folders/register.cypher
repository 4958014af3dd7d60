// A new folder.
CREATE (f:Folder {folder_id: $folder_id})
SET f += $properties, f.created_at = datetime.realtime(), f.due_at = datetime.realtime()
