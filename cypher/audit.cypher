// name: count
// Count the entries since a time, of given keys or all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
RETURN count(a) AS total

// name: page
// Return the latest entries with the names of their keys, of given keys or all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
WITH a ORDER BY a.at DESC, a.entry_id SKIP $offset LIMIT $limit
OPTIONAL MATCH (k:ApiKey {key_id: a.key_id})
RETURN a {.entry_id, .at, .key_id, .method, .path, .status, .request_id, .outcome} AS entry, k.name AS key_name
ORDER BY entry.at DESC, entry.entry_id

// name: prune
// Delete entries after the retention period.
MATCH (a:AuditEntry)
WHERE a.at < datetime.realtime() - duration({days: $days})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS pruned

// name: write
// Write entries. Repetition is safe.
UNWIND $entries AS entry
MERGE (a:AuditEntry {entry_id: entry.entry_id})
ON CREATE SET a += entry
