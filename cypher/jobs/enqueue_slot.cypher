// One job a slot of a schedule, however many schedulers tick: the id is made of kind and slot, and the slot of the
// database's time. None while one of the kind waits or runs, so that they do not pile up behind long work.
OPTIONAL MATCH (busy:Job)
WHERE busy.state IN ['queued', 'running'] AND busy.kind = $fresh.kind
WITH count(busy) AS busy,
     coalesce($slot, toString(toInteger(datetime.realtime().epochMillis / (1000.0 * $every_seconds)))) AS slot
WITH busy, $fresh.kind + '-' + slot AS job_id
FOREACH (_ IN CASE WHEN busy = 0 THEN [1] ELSE [] END |
  MERGE (j:Job {job_id: job_id})
  ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime(),
                j.queued_at = datetime.realtime())
RETURN job_id
