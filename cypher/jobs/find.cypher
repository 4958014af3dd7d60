// One job.
MATCH (j:Job {job_id: $job_id})
RETURN j {.*, now: datetime.realtime()} AS job
