// The job that scans a folder from now on, and when the next one is due if this one should die.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: $job_id})
SET f.job_id = $job_id, f.due_at = datetime.realtime() + duration({seconds: f.every_seconds}),
    j.allow_empty = coalesce(j.allow_empty, false) OR $allow_empty
