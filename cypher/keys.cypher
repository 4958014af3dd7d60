// name: all
// Return all keys without their hashes, newest first.
MATCH (k:ApiKey)
RETURN k {.key_id, .name, .scope, .ontologies, .replaces, .created_by, .created_at, .expires_at, .revoked_at, .last_used_at} AS key,
       datetime.realtime() AS now
ORDER BY k.created_at DESC, k.key_id

// name: end_session
// Delete a session at sign-out.
MATCH (s:PageSession {session_hash: $session_hash})
DETACH DELETE s

// name: end_sessions
// Delete all sessions.
MATCH (s:PageSession)
DETACH DELETE s

// name: expire
// Shorten the life of a replaced key. It is never extended.
MATCH (k:ApiKey {key_id: $key_id})
WITH k, datetime.realtime() + duration({seconds: $valid_seconds}) AS until
SET k.expires_at = CASE WHEN k.expires_at < until THEN k.expires_at ELSE until END

// name: find
// Return a valid key for the check of a request. Revoked or expired keys are excluded.
MATCH (k:ApiKey {key_id: $key_id})
WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
RETURN k.key_id AS key_id, k.name AS name, k.scope AS scope, k.ontologies AS ontologies, k.secret_hash AS secret_hash,
       duration.inSeconds(datetime.realtime(), k.expires_at).seconds AS seconds_left,
       coalesce(k.last_used_at < datetime.realtime() - duration({seconds: $note_again_seconds}), true) AS note_use

// name: find_session
// Return the key of a valid session for the check of a request.
MATCH (s:PageSession {session_hash: $session_hash})-[:OPENED_WITH]->(k:ApiKey)
WHERE s.expires_at > datetime.realtime()
  AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
RETURN k.key_id AS key_id, k.name AS name, k.scope AS scope, k.ontologies AS ontologies, s.session_hash AS secret_hash,
       duration.inSeconds(datetime.realtime(), CASE WHEN k.expires_at < s.expires_at THEN k.expires_at ELSE s.expires_at END).seconds AS seconds_left,
       coalesce(k.last_used_at < datetime.realtime() - duration({seconds: $note_again_seconds}), true) AS note_use

// name: hold
// Lock the key ring, so that concurrent creations cannot use the same name for two valid keys.
MERGE (r:KeyRing {ring: 'all'})
SET r.held_at = datetime.realtime()

// name: life
// Return the original lifetime of a key, or null if unlimited.
MATCH (k:ApiKey {key_id: $key_id})
RETURN k.valid_seconds AS seconds

// name: limit
// Limit the validity of a restored key to its validity in the replaced database.
UNWIND $keys AS current
MATCH (k:ApiKey {key_id: current.key_id})
SET k.revoked_at = coalesce(k.revoked_at, current.revoked_at),
    k.expires_at = CASE WHEN k.expires_at <= current.expires_at THEN k.expires_at
                        ELSE coalesce(current.expires_at, k.expires_at) END

// name: note_use
// Record the use of a key.
MATCH (k:ApiKey {key_id: $key_id})
SET k.last_used_at = datetime.realtime()

// name: open_session
// Create a session for a valid key, and delete its oldest sessions above the limit. No row means that the key is
// invalid.
MATCH (k:ApiKey {key_id: $key_id})
WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > datetime.realtime())
SET k.last_used_at = datetime.realtime()
MERGE (s:PageSession {session_hash: $session_hash})
ON CREATE SET s.opened_at = datetime.realtime(), s.expires_at = datetime.realtime() + duration({seconds: $valid_seconds})
MERGE (s)-[:OPENED_WITH]->(k)
WITH k
MATCH (each:PageSession)-[:OPENED_WITH]->(k)
WITH each ORDER BY each.opened_at DESC
WITH collect(each) AS sessions
FOREACH (old IN sessions[$most..] | DETACH DELETE old)
RETURN size(sessions) AS sessions

// name: prune_sessions
// Delete expired sessions.
MATCH (s:PageSession)
WHERE s.expires_at <= datetime.realtime()
WITH s LIMIT 10000
DETACH DELETE s
RETURN count(*) AS pruned

// name: put
// Create a key with the hash of its secret. Repetition is safe.
MERGE (k:ApiKey {key_id: $key_id})
ON CREATE SET k.name = $name, k.secret_hash = $secret_hash, k.scope = $scope, k.ontologies = $ontologies, k.replaces = $replaces,
              k.created_by = $created_by, k.valid_seconds = $valid_seconds, k.created_at = datetime.realtime(),
              k.expires_at = CASE WHEN $valid_seconds IS NULL THEN null
                                  ELSE datetime.realtime() + duration({seconds: $valid_seconds}) END
RETURN k.key_id AS key_id

// name: revoke
// Revoke a key. An earlier revocation is unchanged.
MATCH (k:ApiKey {key_id: $key_id})
SET k.revoked_at = coalesce(k.revoked_at, datetime.realtime())
