// What was changed last, with the name that the key has; of some keys, or of all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
WITH a ORDER BY a.at DESC, a.entry_id SKIP $offset LIMIT $limit
OPTIONAL MATCH (k:ApiKey {key_id: a.key_id})
RETURN a {.entry_id, .at, .key_id, .method, .path, .status, .request_id, .outcome} AS entry, k.name AS key_name
ORDER BY entry.at DESC, entry.entry_id
