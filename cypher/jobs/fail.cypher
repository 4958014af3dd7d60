// The job failed: it waits and is tried again, or is dead after too many times without progress.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
WITH j, j.stumbles + 1 >= $max_failures OR $permanent AS dead,
     datetime.realtime() + duration({seconds: $delay_seconds}) AS later
SET j.stumbles = j.stumbles + 1, j.error = $error, j.permanent = $permanent, j.worker = null, j.lease_until = null,
    j.state = CASE WHEN dead THEN 'dead' ELSE 'queued' END,
    j.unique_key = CASE WHEN dead THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN dead THEN datetime.realtime() ELSE null END,
    j.run_after = later, j.queued_at = later
RETURN j.state AS state
