// The owner is alive; nobody else may take the job.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
SET j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds})
RETURN j.job_id AS job_id
