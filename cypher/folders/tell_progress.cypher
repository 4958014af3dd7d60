// What a scan has done so far, and how many files there are in all.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: $job_id})
SET f.progress = $tally, j.total = $total
