// The job's place, in the transaction of the work it stands for. A commit whose answer was lost is repeated: then
// the cursor stands where it shall already and nothing is counted twice.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, j.state = 'running' AND j.fence = $fence AS owned, j.cursor = $before AS fresh
FOREACH (_ IN CASE WHEN owned AND fresh THEN [1] ELSE [] END |
  SET j.cursor = $after, j.done = j.done + $done, j.stumbles = 0, j.waits = 0, j.error = null,
      j.total = CASE WHEN j.done + $done > j.total THEN j.done + $done ELSE j.total END,
      j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds}))
RETURN owned AND j.cursor = $after AS advanced
