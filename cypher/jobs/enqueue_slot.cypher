// One job a slot of a schedule, however many schedulers tick: the id is made of kind and slot.
MERGE (j:Job {job_id: $job_id})
ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime()
RETURN j.job_id AS job_id
