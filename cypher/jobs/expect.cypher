// How much is left of a job, as its worker has counted it.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
SET j.total = j.done + $left
RETURN j.total AS total
