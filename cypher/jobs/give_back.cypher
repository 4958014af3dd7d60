// The owner lets others go first: the job goes to the end of the queue, and may be had after a while.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, datetime.realtime() + duration({seconds: $delay_seconds}) AS later
WHERE j.state = 'running' AND j.fence = $fence
SET j.state = 'queued', j.worker = null, j.lease_until = null, j.run_after = later, j.queued_at = later
