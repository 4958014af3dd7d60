// Ends a job, unless work was asked for since it last looked: then it starts another round. When the last part of
// a whole ends, the whole goes on at once, unless it has an error: then it waits to be tried again. Who does not own the
// part any more, or ends it a second time, moves its whole nowhere in the queue.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p, j.state = 'running' AND j.fence = $fence AS owned, j.wanted = $wanted AS last,
     CASE WHEN coalesce(j.set_aside, 0) > 0 THEN 'completed_with_errors' ELSE 'completed' END AS end
FOREACH (_ IN CASE WHEN owned AND last THEN [1] ELSE [] END |
  SET j.state = end, j.unique_key = null, j.finished_at = datetime.realtime(), j.total = j.done,
      j.cursor = '', j.error = null, j.lease_until = null)
FOREACH (_ IN CASE WHEN owned AND NOT last THEN [1] ELSE [] END | SET j.cursor = '')
WITH j, p, end, owned AND last AS ended
FOREACH (_ IN CASE WHEN ended AND p.state = 'queued' AND p.error IS NULL AND NOT EXISTS {
    MATCH (c:Job) WHERE c.parent_id = p.job_id AND c.state IN ['queued', 'running'] } THEN [1] ELSE [] END |
  SET p.run_after = datetime.realtime(), p.queued_at = datetime.realtime())
RETURN j.fence = $fence AND j.state IN ['running', end] AS owned, j.state = end AS finished,
       j.wanted AS wanted, j.selection AS selection, j.forced_at AS forced_at
