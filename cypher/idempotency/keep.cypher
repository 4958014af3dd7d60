// The answer that every further request with this key gets.
MATCH (a:KeptAnswer {key: $key})
SET a.answer = $answer, a.kept_at = datetime.realtime()
