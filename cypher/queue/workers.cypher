// The workers that have given a sign of life lately, and the job that each has.
MATCH (w:Worker)
RETURN w.name AS name, w.host AS host, w.pid AS pid, w.started_at AS started_at,
       coalesce(w.notes, []) AS notes,
       (datetime.realtime().epochMillis - w.seen_at.epochMillis) / 1000.0 AS seen_seconds_ago,
       COLLECT { MATCH (j:Job) WHERE j.state = 'running' AND j.worker = w.name RETURN j.job_id LIMIT 1 }[0] AS job
ORDER BY name
