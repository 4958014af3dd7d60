// All keys, the newest first; never their hashes.
MATCH (k:ApiKey)
RETURN k {.key_id, .name, .scope, .ontologies, .replaces, .created_by, .created_at, .expires_at, .revoked_at, .last_used_at} AS key,
       datetime.realtime() AS now
ORDER BY k.created_at DESC, k.key_id
