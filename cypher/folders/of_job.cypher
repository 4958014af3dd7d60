// The folder that a job shall scan; none when it is registered no more.
MATCH (j:Job {job_id: $job_id})
MATCH (f:Folder) WHERE f.job_id = j.job_id AND f.removing IS NULL
RETURN f.folder_id AS folder_id, f.path AS path, f.ontology AS ontology, f.prefix AS prefix, f.grant AS grant,
       coalesce(f.review, false) AS review,
       f.progress AS progress, f.last_scan AS last_scan, coalesce(j.allow_empty, false) AS allow_empty
