// Jobs that were made before there was a place in the queue, and things set aside.
MATCH (j:Job)
WHERE j.queued_at IS NULL
SET j.queued_at = coalesce(j.run_after, j.created_at), j.progressed_at = j.claimed_at, j.set_aside = 0,
    j.selection = 'due', j.key = CASE WHEN j.ontology IS NULL THEN null ELSE j.kind + ':' + j.ontology END
