// Forget sessions that are over.
MATCH (s:PageSession)
WHERE s.expires_at <= datetime.realtime()
WITH s LIMIT 10000
DETACH DELETE s
RETURN count(*) AS pruned
