// The unfinished job of a key.
MATCH (j:Job {unique_key: $unique_key})
RETURN j.job_id AS job_id
