// What was worth more is done: the rest of the job is worth less, unless more was asked for since it last looked. The
// whole of a part is so when no other part is worth more. What a person has put first stays so.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p
WHERE j.state = 'running' AND j.fence = $fence
WITH j, p, j.wanted = $wanted AS last
FOREACH (_ IN CASE WHEN last THEN [1] ELSE [] END | SET j.rank = CASE WHEN j.put_first THEN j.rank ELSE $rank END)
FOREACH (whole IN CASE WHEN p IS NULL OR EXISTS {
    MATCH (c:Job)
    WHERE c.parent_id = p.job_id AND c.state IN ['queued', 'running'] AND c.rank < $rank
  } THEN [] ELSE [p] END | SET whole.rank = CASE WHEN whole.put_first THEN whole.rank ELSE $rank END)
RETURN last, j.rank AS rank, j.wanted AS wanted, j.selection AS selection, j.forced_at AS forced_at
