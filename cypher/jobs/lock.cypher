// Holds a job, and its whole before it, to look at them and then change it.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = 'retry')
SET j.locked_by = 'retry'
RETURN j.state AS state, j.run_after > datetime.realtime() OR coalesce(j.rank, 0) > 0 AS later, j.kind AS kind, j.ontology AS ontology,
       j.key AS key, j.parent_id AS parent_id, p.state AS parent_state
