// One key as a request is checked by it; of one that is revoked or expired, none.
MATCH (k:ApiKey {key_id: $key_id})
WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
RETURN k.key_id AS key_id, k.name AS name, k.scope AS scope, k.ontologies AS ontologies, k.secret_hash AS secret_hash,
       duration.inSeconds(datetime.realtime(), k.expires_at).seconds AS seconds_left,
       coalesce(k.last_used_at < datetime.realtime() - duration({seconds: $note_again_seconds}), true) AS note_use
