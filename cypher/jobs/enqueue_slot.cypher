// One job a slot of a schedule, however many schedulers tick: the id is made of kind and slot. None while one of
// the kind waits or runs, so that they do not pile up behind long work.
OPTIONAL MATCH (busy:Job)
WHERE busy.state IN ['queued', 'running'] AND busy.kind = $fresh.kind
WITH count(busy) AS busy
WHERE busy = 0
MERGE (j:Job {job_id: $job_id})
ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime()
RETURN j.job_id AS job_id
