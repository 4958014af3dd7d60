// A key that another replaces is good for a while; never longer than it was.
MATCH (k:ApiKey {key_id: $key_id})
WITH k, datetime.realtime() + duration({seconds: $valid_seconds}) AS until
SET k.expires_at = CASE WHEN k.expires_at < until THEN k.expires_at ELSE until END
