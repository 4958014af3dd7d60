// The queue in numbers. Parts of jobs and what schedules make are left out, as they are from lists of jobs. A job
// that has died counts for a day, unless a later one of its kind has done the work.
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
  WHERE d.state = 'dead' AND d.created_at IS NOT NULL AND d.parent_id IS NULL AND NOT d.kind IN $hidden
    AND d.finished_at > datetime.realtime() - duration({hours: 24})
    AND NOT EXISTS {
      MATCH (later:Job)
      WHERE later.state IN ['completed', 'completed_with_errors'] AND later.created_at > d.created_at
        AND later.kind = d.kind AND coalesce(later.ontology, '') = coalesce(d.ontology, '')
    }
  RETURN count(d) AS dead
}
RETURN queued, running, waiting, stalled, dead, oldest_waiting_seconds, backlog_age_seconds,
       COLLECT { MATCH (o:Ontology) WHERE o.paused RETURN o.name ORDER BY o.name } AS paused
