// A worker is there.
MERGE (w:Worker {name: $name})
ON CREATE SET w.started_at = datetime.realtime()
SET w.host = $host, w.pid = $pid, w.notes = $notes, w.seen_at = datetime.realtime()
