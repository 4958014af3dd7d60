// name: forget_old
// Answers that were kept long enough.
MATCH (a:KeptAnswer)
WHERE a.kept_at < datetime.realtime() - duration({hours: $hours})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS forgotten

// name: hold
// Holds the answer that is kept for a key, until the end of the transaction: of requests with one key, the first is
// carried out and the others wait for it. What is too old is as if it had never been.
MERGE (a:KeptAnswer {key: $key})
SET a.held_at = datetime.realtime()
WITH a, coalesce(a.kept_at < datetime.realtime() - duration({hours: $hours}), false) AS old
SET a.answer = CASE WHEN old THEN null ELSE a.answer END,
    a.request_hash = CASE WHEN old OR a.request_hash IS NULL THEN $request_hash ELSE a.request_hash END
RETURN a.request_hash AS request_hash, a.answer AS answer

// name: keep
// The answer that every further request with this key gets.
MATCH (a:KeptAnswer {key: $key})
SET a.answer = $answer, a.kept_at = datetime.realtime()
