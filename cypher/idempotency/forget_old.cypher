// Answers that were kept long enough.
MATCH (a:KeptAnswer)
WHERE a.kept_at < datetime.realtime() - duration({hours: $hours})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS forgotten
