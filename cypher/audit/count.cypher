// How many entries there are; of some keys, or of all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
RETURN count(a) AS total
