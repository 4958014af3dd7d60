// One page of jobs, the newest first.
MATCH (j:Job)
WHERE ($state IS NULL OR j.state = $state) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontology IS NULL OR j.ontology = $ontology) AND NOT j.kind IN $hidden
RETURN j {.*, now: datetime.realtime()} AS job
ORDER BY j.created_at DESC, j.job_id
SKIP $offset LIMIT $limit
