// The last jobs of a kind for an ontology, the newest first: how often it has died, and since when it rests.
MATCH (j:Job)
WHERE j.state IN ['dead', 'completed', 'completed_with_errors', 'cancelled']
  AND j.kind = $kind AND j.ontology = $ontology AND j.parent_id IS NULL
RETURN j.state = 'dead' AS dead, coalesce(j.permanent, false) AS permanent,
       duration.inSeconds(j.finished_at, datetime.realtime()).seconds AS seconds
ORDER BY j.created_at DESC LIMIT 10
