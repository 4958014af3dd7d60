// From here on no scan writes for the folder.
MATCH (f:Folder {folder_id: $folder_id})
SET f.removing = datetime.realtime()
