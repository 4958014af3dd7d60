// name: lately
// Return unfinished jobs and jobs that ended recently. An index finds the latter.
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

// name: status
// Return the state of the queue in numbers, without parts and scheduled jobs. A failed job counts for a day, unless a
// later job of its kind succeeded.
CALL () {
  MATCH (j:Job)
  WHERE j.state IN ['queued', 'running'] AND j.queued_at IS NOT NULL AND j.parent_id IS NULL AND NOT j.kind IN $hidden
  OPTIONAL MATCH (c:Job)
  WHERE c.parent_id = j.job_id AND c.state = 'running'
  WITH j, datetime.realtime() AS now, min(c.lease_until) AS parts_until
  WITH j, now, CASE WHEN j.state = 'queued' AND parts_until IS NOT NULL THEN 'running' ELSE j.state END AS state,
       coalesce(parts_until, j.lease_until) AS lease_until
  WITH j, now, state, lease_until, state = 'queued' AND j.run_after > now AS waits,
       state = 'running' AND lease_until < now AS stalled
  WITH j, now, state, waits, stalled,
       CASE WHEN stalled THEN lease_until WHEN state = 'queued' AND NOT waits THEN j.queued_at END AS ready_since
  RETURN count(CASE state WHEN 'queued' THEN 1 END) AS queued,
         count(CASE state WHEN 'running' THEN 1 END) AS running,
         count(CASE WHEN waits THEN 1 END) AS waiting,
         count(CASE WHEN stalled THEN 1 END) AS stalled,
         coalesce(max(now.epochMillis - ready_since.epochMillis), 0) / 1000.0 AS oldest_waiting_seconds,
         coalesce(max(now.epochMillis - j.created_at.epochMillis), 0) / 1000.0 AS backlog_age_seconds
}
CALL () {
  MATCH (d:Job)
  WHERE d.state = 'failed' AND d.created_at IS NOT NULL AND d.parent_id IS NULL AND NOT d.kind IN $hidden
    AND d.finished_at > datetime.realtime() - duration({hours: 24})
    AND NOT EXISTS {
      MATCH (later:Job)
      WHERE later.state IN ['succeeded', 'succeeded_with_errors'] AND later.created_at > d.created_at
        AND later.kind = d.kind AND coalesce(later.ontology, '') = coalesce(d.ontology, '')
    }
  RETURN count(d) AS failed
}
RETURN queued, running, waiting, stalled, failed, oldest_waiting_seconds, backlog_age_seconds,
       COLLECT { MATCH (o:Ontology) WHERE o.paused RETURN o.name ORDER BY o.name } AS paused

// name: touched
// Check whether a worker has a job, or made progress within some seconds.
RETURN EXISTS {
  MATCH (j:Job)
  WHERE (j.state = 'running' AND j.lease_until >= datetime.realtime())
    OR j.progressed_at > datetime.realtime() - duration({seconds: $seconds})
} AS touched

// name: workers
// Return the workers with their last heartbeat and current job.
MATCH (w:Worker)
RETURN w.name AS name, w.host AS host, w.pid AS pid, w.started_at AS started_at,
       coalesce(w.notes, []) AS notes,
       (datetime.realtime().epochMillis - w.seen_at.epochMillis) / 1000.0 AS seen_seconds_ago,
       COLLECT { MATCH (j:Job) WHERE j.state = 'running' AND j.worker = w.name RETURN j.job_id LIMIT 1 }[0] AS job
ORDER BY name
