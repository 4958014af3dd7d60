// Whether the last job of a kind for an ontology died of what a person must mend, and not long ago.
MATCH (j:Job)
WHERE j.state IN ['dead', 'completed', 'cancelled'] AND j.kind = $kind AND j.ontology = $ontology
WITH j ORDER BY j.created_at DESC LIMIT 1
RETURN j.state = 'dead' AND j.permanent AND j.finished_at > datetime.realtime() - duration({minutes: $minutes})
       AS died
