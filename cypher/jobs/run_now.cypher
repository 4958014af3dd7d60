// A job that waits for its next try is tried at once.
MATCH (j:Job {job_id: $job_id})
SET j.run_after = datetime.realtime(), j.queued_at = datetime.realtime()
