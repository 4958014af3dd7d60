// How many entries there are; of one key, or of all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_id IS NULL OR a.key_id = $key_id)
RETURN count(a) AS total
