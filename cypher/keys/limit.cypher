// A key of a restored database is worth no more than in the database that is replaced.
UNWIND $keys AS current
MATCH (k:ApiKey {key_id: current.key_id})
SET k.revoked_at = coalesce(k.revoked_at, current.revoked_at),
    k.expires_at = CASE WHEN k.expires_at <= current.expires_at THEN k.expires_at
                        ELSE coalesce(current.expires_at, k.expires_at) END
