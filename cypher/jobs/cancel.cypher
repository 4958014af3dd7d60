// Ends a job that waits or runs; its worker's writes are refused from now on.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = 'cancel'
WITH j, j.state AS before
FOREACH (_ IN CASE WHEN before IN ['queued', 'running'] THEN [1] ELSE [] END |
  SET j.state = 'cancelled', j.unique_key = null, j.finished_at = datetime.realtime(), j.lease_until = null,
      j.worker = null, j.error = 'cancelled on request')
RETURN before, j.kind AS kind, j.ontology AS ontology, j.parent_id AS parent_id
