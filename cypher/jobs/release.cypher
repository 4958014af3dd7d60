// The owner goes; another worker may take the job at once. It keeps its place in the queue.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
SET j.state = 'queued', j.worker = null, j.lease_until = null, j.run_after = datetime.realtime()
