// name: forget
// Delete a worker.
MATCH (w:Worker {name: $name})
DELETE w

// name: forget_lost
// Delete workers without a heartbeat for an hour.
MATCH (w:Worker)
WHERE w.seen_at < datetime.realtime() - duration({hours: 1})
DELETE w

// name: seen
// Record a heartbeat.
MERGE (w:Worker {name: $name})
ON CREATE SET w.started_at = datetime.realtime()
SET w.host = $host, w.pid = $pid, w.notes = $notes, w.seen_at = datetime.realtime()
