// A key is used.
MATCH (k:ApiKey {key_id: $key_id})
SET k.last_used_at = datetime.realtime()
