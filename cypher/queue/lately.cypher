// What is going on: unfinished jobs, and those that have just ended. The end is found by an index.
CALL () {
  MATCH (j:Job)
  WHERE j.state IN ['queued', 'running'] AND j.queued_at IS NOT NULL
  RETURN j
  UNION
  MATCH (j:Job)
  WHERE j.finished_at > datetime.realtime() - duration({seconds: 30})
  RETURN j
}
WITH j
WHERE j.parent_id IS NULL AND NOT j.kind IN $hidden AND ($ontologies IS NULL OR j.ontology IN $ontologies)
WITH j ORDER BY j.created_at LIMIT 1000
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }, running_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' }, stalled_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' AND c.lease_until < datetime.realtime() }} AS job
