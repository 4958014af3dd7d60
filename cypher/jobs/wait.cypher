// The job waits for something else that does not answer. That is no fault of its own: it never dies of it.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
SET j.waits = coalesce(j.waits, 0) + 1, j.error = $error, j.worker = null, j.lease_until = null,
    j.state = 'queued', j.run_after = datetime.realtime() + duration({seconds: $delay_seconds})
RETURN j.state AS state
