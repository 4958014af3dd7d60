// The job's place, in the transaction of the work it stands for. A commit whose answer was lost is repeated: then
// the cursor stands where it shall already and nothing is counted twice. A part counts for its whole too, which is
// locked first, as in every statement that holds both.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p,
     j.state = 'running' AND j.fence = $fence
       AND (j.parent_id IS NULL OR coalesce(p.state IN ['queued', 'running'], false)) AS owned,
     j.cursor = $before AS fresh
FOREACH (each IN CASE WHEN owned AND fresh THEN [x IN [j, p] WHERE x IS NOT NULL] ELSE [] END |
  SET each.total = CASE WHEN each.done + $done > each.total THEN each.done + $done ELSE each.total END
  SET each.done = each.done + $done, each.set_aside = coalesce(each.set_aside, 0) + $set_aside)
FOREACH (_ IN CASE WHEN owned AND fresh THEN [1] ELSE [] END |
  SET j.cursor = $after, j.stumbles = 0, j.waits = 0, j.error = null, j.progressed_at = datetime.realtime(),
      j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds}))
RETURN owned AND j.cursor = $after AS advanced
