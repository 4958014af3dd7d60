// What was changed so long ago that nobody asks any more.
MATCH (a:AuditEntry)
WHERE a.at < datetime.realtime() - duration({days: $days})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS pruned
