// The unfinished jobs of a kind.
MATCH (j:Job)
WHERE j.state IN ['queued', 'running'] AND j.kind = $kind AND j.created_at IS NOT NULL AND j.parent_id IS NULL
RETURN j.ontology AS ontology, j.done AS done, j.total AS total
ORDER BY ontology
