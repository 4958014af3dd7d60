// The key of a session, as a request is checked by it; none where the session is over, or its key revoked or expired.
MATCH (s:PageSession {session_hash: $session_hash})-[:OPENED_WITH]->(k:ApiKey)
WHERE s.expires_at > datetime.realtime()
  AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
RETURN k.key_id AS key_id, k.name AS name, k.scope AS scope, k.ontologies AS ontologies, s.session_hash AS secret_hash,
       duration.inSeconds(datetime.realtime(), CASE WHEN k.expires_at < s.expires_at THEN k.expires_at ELSE s.expires_at END).seconds AS seconds_left,
       coalesce(k.last_used_at < datetime.realtime() - duration({seconds: $note_again_seconds}), true) AS note_use
