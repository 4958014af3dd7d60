// Whoever writes for a folder holds it first; none when it is registered no more.
MATCH (f:Folder {folder_id: $folder_id})
SET f.touched_at = datetime.realtime()
WITH f
WHERE f.removing IS NULL
RETURN f.due_at <= datetime.realtime() AS due, f.job_id AS job_id
