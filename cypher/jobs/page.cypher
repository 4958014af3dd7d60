// One page of jobs, the newest first; parts of jobs are not among them. A job whose parts run, runs.
MATCH (j:Job)
WHERE ($state IS NULL OR $state = CASE WHEN j.state = 'queued' AND EXISTS {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' } THEN 'running' ELSE j.state END) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontologies IS NULL OR j.ontology IN $ontologies) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
WITH j ORDER BY j.created_at DESC, j.job_id SKIP $offset LIMIT $limit
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }, running_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' }, stalled_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' AND c.lease_until < datetime.realtime() }} AS job
ORDER BY job.created_at DESC, job.job_id
