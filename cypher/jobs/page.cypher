// One page of jobs, the newest first; parts of jobs are not among them.
MATCH (j:Job)
WHERE ($state IS NULL OR j.state = $state) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontology IS NULL OR j.ontology = $ontology) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
WITH j ORDER BY j.created_at DESC, j.job_id SKIP $offset LIMIT $limit
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }} AS job
ORDER BY job.created_at DESC, job.job_id
