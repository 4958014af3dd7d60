// Somebody signs in with a key that can be used; of a key's sessions the oldest beyond so many end. None where the key is worth nothing any more.
MATCH (k:ApiKey {key_id: $key_id})
WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
SET k.last_used_at = datetime.realtime()
MERGE (s:PageSession {session_hash: $session_hash})
ON CREATE SET s.opened_at = datetime.realtime(), s.expires_at = datetime.realtime() + duration({seconds: $valid_seconds})
MERGE (s)-[:OPENED_WITH]->(k)
WITH k
MATCH (each:PageSession)-[:OPENED_WITH]->(k)
WITH each ORDER BY each.opened_at DESC
WITH collect(each) AS sessions
FOREACH (old IN sessions[$most..] | DETACH DELETE old)
RETURN size(sessions) AS sessions
