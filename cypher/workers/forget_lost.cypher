// Workers that gave no sign of life for an hour.
MATCH (w:Worker)
WHERE w.seen_at < datetime.realtime() - duration({hours: 1})
DELETE w
RETURN count(*) AS forgotten
