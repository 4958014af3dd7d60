// Parts of a job, those that are still to be done first.
MATCH (j:Job)
WHERE j.parent_id = $job_id AND j.state IS NOT NULL
RETURN j {.*, now: datetime.realtime(), parts: 0} AS job
ORDER BY job.state IN ['queued', 'running'] DESC, job.part
LIMIT $limit
