// One job.
MATCH (j:Job {job_id: $job_id})
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }, running_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' }, stalled_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' AND c.lease_until < datetime.realtime() }} AS job
