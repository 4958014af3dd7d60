// Whether a job shall let others go first: one of a smaller rank is at work, be it this one that was put first since,
// or waits and could be had; or, when its turn is over, one of its own rank waits that could be had, of another
// ontology or another kind, or the whole of this part.
CALL () {
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'running' AND j.rank < $rank AND j.queued_at IS NOT NULL
    AND (j.kind IN $kinds OR j.lease_until >= datetime.realtime())
    AND coalesce(j.job_id <> $parent_id, true)
  RETURN j LIMIT 1
  UNION
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'queued' AND j.rank < $rank AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds AND coalesce(j.job_id <> $parent_id, true)
  RETURN j LIMIT 1
  UNION
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE $over AND j.state = 'queued' AND j.rank <= $rank AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds
    AND (j.kind <> $kind OR coalesce(j.ontology, '') <> $ontology OR j.job_id = $parent_id)
  RETURN j LIMIT 1
}
RETURN count(j) > 0 AS others
