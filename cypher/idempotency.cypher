// name: forget_old
// Delete expired responses.
MATCH (a:KeptAnswer)
WHERE a.kept_at < datetime.realtime() - duration({hours: $hours})
WITH a LIMIT 10000
DELETE a
RETURN count(*) AS forgotten

// name: hold
// Lock the stored response of a key until the end of the transaction. So one of several requests with a key runs, and
// the others wait. Expired responses are ignored.
MERGE (a:KeptAnswer {key: $key})
SET a.held_at = datetime.realtime()
WITH a, coalesce(a.kept_at < datetime.realtime() - duration({hours: $hours}), false) AS old
SET a.answer = CASE WHEN old THEN null ELSE a.answer END,
    a.request_hash = CASE WHEN old OR a.request_hash IS NULL THEN $request_hash ELSE a.request_hash END
RETURN a.request_hash AS request_hash, a.answer AS answer

// name: keep
// Store the response for all further requests with this key.
MATCH (a:KeptAnswer {key: $key})
SET a.answer = $answer, a.kept_at = datetime.realtime()
