// name: count
// How many entries there are; of some keys, or of all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
RETURN count(a) AS total

// name: page
// What was changed last, with the name that the key has; of some keys, or of all.
MATCH (a:AuditEntry)
WHERE a.at >= $since AND ($key_ids IS NULL OR a.key_id IN $key_ids)
WITH a ORDER BY a.at DESC, a.entry_id SKIP $offset LIMIT $limit
OPTIONAL MATCH (k:ApiKey {key_id: a.key_id})
RETURN a {.entry_id, .at, .key_id, .method, .path, .status, .request_id, .outcome} AS entry, k.name AS key_name
ORDER BY entry.at DESC, entry.entry_id

// name: prune
// What was changed so long ago that nobody asks any more.
MATCH (a:AuditEntry)
WHERE a.at < datetime.realtime() - duration({days: $days})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS pruned

// name: write
// What was changed; written once, however often that is tried.
UNWIND $entries AS entry
MERGE (a:AuditEntry {entry_id: entry.entry_id})
ON CREATE SET a += entry
