// Finished jobs are kept for a while: those of schedules an hour, others longer.
MATCH (j:Job)
WHERE j.state IN ['completed', 'completed_with_errors', 'cancelled', 'dead'] AND j.finished_at <
  datetime.realtime() - CASE WHEN j.kind IN $periodic THEN duration({hours: 1}) ELSE duration({days: $days}) END
WITH j LIMIT 10000
DETACH DELETE j
RETURN count(*) AS pruned
