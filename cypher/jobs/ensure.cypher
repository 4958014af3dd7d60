// A job of that key, unless there is an unfinished one.
MERGE (j:Job {unique_key: $unique_key})
ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime(),
              j.queued_at = datetime.realtime(), j.total = $total,
              j.forced_at = CASE WHEN $force THEN datetime.realtime() ELSE null END
RETURN j.job_id AS job_id, j.job_id = $fresh.job_id AS created
