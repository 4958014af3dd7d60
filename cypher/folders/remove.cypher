// The registration; documents stay, or have gone before.
MATCH (f:Folder {folder_id: $folder_id})
DETACH DELETE f
