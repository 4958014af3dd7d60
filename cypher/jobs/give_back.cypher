// The owner lets others go first: the job goes to the end of the queue, and may be had after a while. One that pauses
// waits for what it has said, such as its parts, and no longer because of what went wrong before: an error that was
// left on it would keep its last part from waking it (finish), and would say that it waits to be tried again.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, datetime.realtime() + duration({seconds: $delay_seconds}) AS later
WHERE j.state = 'running' AND j.fence = $fence
SET j.state = 'queued', j.worker = null, j.lease_until = null, j.run_after = later, j.queued_at = later,
    j.error = CASE WHEN $delay_seconds > 0 THEN null ELSE j.error END
