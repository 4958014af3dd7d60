// Parts of a running job that any worker may take; a part that is there already stays as it is.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
UNWIND $parts AS part
MERGE (c:Job {unique_key: part.unique_key})
ON CREATE SET c += part.fresh, c.key = part.unique_key, c.parent_id = j.job_id, c.part = part.part,
              c.kind = j.kind, c.ontology = j.ontology, c.selection = j.selection, c.forced_at = j.forced_at, c.rank = j.rank,
              c.put_first = j.put_first,
              c.created_at = datetime.realtime(), c.run_after = datetime.realtime(),
              c.queued_at = datetime.realtime()
RETURN count(c) AS parts
