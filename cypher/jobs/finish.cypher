// Ends a job, unless work was asked for since it last looked: then it starts another round.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, j.state = 'running' AND j.fence = $fence AS owned, j.wanted = $wanted AS last
FOREACH (_ IN CASE WHEN owned AND last THEN [1] ELSE [] END |
  SET j.state = 'completed', j.unique_key = null, j.finished_at = datetime.realtime(), j.total = j.done,
      j.cursor = '', j.error = null)
FOREACH (_ IN CASE WHEN owned AND NOT last THEN [1] ELSE [] END | SET j.cursor = '')
RETURN j.fence = $fence AS owned, j.state = 'completed' AS finished, j.wanted AS wanted
