// A key is worth nothing from now on; one that is revoked stays as it was.
MATCH (k:ApiKey {key_id: $key_id})
SET k.revoked_at = coalesce(k.revoked_at, datetime.realtime())
