// New work for a kind and key: joins the unfinished job of that key, or makes it. Runs in the transaction that
// makes the work, so neither is there without the other. `wanted` tells a running job to look once more. When the
// job ended while this waited for its lock, it is not open and another is to be asked for.
MERGE (j:Job {unique_key: $unique_key})
ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime(),
              j.queued_at = datetime.realtime()
SET j.wanted = j.wanted + 1, j.total = j.total + $added,
    j.rank = CASE WHEN $fresh.rank < coalesce(j.rank, 0) THEN $fresh.rank ELSE coalesce(j.rank, 0) END
FOREACH (part IN COLLECT {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] AND c.rank > j.rank RETURN c
  } | SET part.rank = j.rank)
WITH j, CASE WHEN j.selection = $fresh.selection THEN j.selection ELSE 'due' END AS selection
SET j.selection = selection, j.forced_at = CASE WHEN $force THEN datetime.realtime() ELSE j.forced_at END
RETURN j.job_id AS job_id, j.unique_key IS NOT NULL AS open, j.job_id = $fresh.job_id AS created
