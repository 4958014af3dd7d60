// Whether a job waits that could be had, of another ontology or another kind, or the whole of this part.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at <= datetime.realtime() AND j.run_after <= datetime.realtime()
  AND j.kind IN $kinds AND (j.kind <> $kind OR coalesce(j.ontology, '') <> $ontology OR j.job_id = $parent_id)
WITH j LIMIT 1
RETURN count(j) > 0 AS others
