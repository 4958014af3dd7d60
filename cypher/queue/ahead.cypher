// What other jobs wait for: the jobs that are at work, those of the smallest rank first, and, of each rank, those that
// wait and could be had. Parts count for their whole; what schedules make is hidden.
CALL () {
  MATCH (r:Job)
  WHERE r.state = 'running' AND r.queued_at IS NOT NULL
  OPTIONAL MATCH (p:Job {job_id: r.parent_id})
  RETURN coalesce(p, r) AS j, coalesce(r.rank, 0) AS rank, 1 AS at_work, r.queued_at AS since
  UNION
  UNWIND $ranks AS rank
  CALL (rank) {
    MATCH (j:Job)
    USING INDEX SEEK j:Job(state, rank, queued_at)
    WHERE j.state = 'queued' AND j.rank = rank AND j.queued_at <= datetime.realtime()
      AND j.run_after <= datetime.realtime() AND j.parent_id IS NULL AND NOT j.kind IN $hidden
    WITH j ORDER BY j.state, j.rank, j.queued_at LIMIT $limit
    RETURN j
  }
  RETURN j, rank, 0 AS at_work, j.queued_at AS since
}
WITH j, min(rank) AS rank, max(at_work) = 1 AS at_work, min(since) AS since
WHERE NOT j.kind IN $hidden
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }} AS job, rank, at_work
ORDER BY at_work DESC, rank, since LIMIT $limit
