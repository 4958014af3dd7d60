// Finished jobs are kept for a while: those of schedules an hour, others longer. The last one stays that died of what a
// person must mend, where work is not begun again before somebody asks for it.
MATCH (j:Job)
WHERE j.state IN ['completed', 'completed_with_errors', 'cancelled', 'dead'] AND j.finished_at <
  datetime.realtime() - CASE WHEN j.kind IN $periodic THEN duration({hours: 1}) ELSE duration({days: $days}) END
  AND NOT (j.kind IN $asked_for AND j.state = 'dead' AND coalesce(j.permanent, false) AND NOT EXISTS {
    MATCH (later:Job)
    WHERE later.kind = j.kind AND later.ontology = j.ontology AND later.created_at > j.created_at
  } AND EXISTS {
    MATCH (o:Ontology)
    WHERE o.name = j.ontology
  })
WITH j LIMIT 10000
DETACH DELETE j
RETURN count(*) AS pruned
