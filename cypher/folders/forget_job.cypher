// The job of a folder's last scan goes when another is asked for, so that scans do not pile up; why it died stays.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: f.job_id})
SET j.locked_by = 'the next scan'
WITH f, j
WHERE NOT j.state IN ['queued', 'running']
SET f.error = CASE WHEN j.state = 'dead' THEN j.error ELSE f.error END
DETACH DELETE j
