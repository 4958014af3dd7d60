// The job waits for something else that does not answer. That is no fault of its own: it never dies of it.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, datetime.realtime() + duration({seconds: $delay_seconds}) AS later
WHERE j.state = 'running' AND j.fence = $fence
SET j.waits = coalesce(j.waits, 0) + 1, j.error = $error, j.worker = null, j.lease_until = null,
    j.state = 'queued', j.run_after = later, j.queued_at = later
RETURN j.state AS state
