// A new key; of the secret its hash alone. Written once, however often that is tried.
MERGE (k:ApiKey {key_id: $key_id})
ON CREATE SET k.name = $name, k.secret_hash = $secret_hash, k.scope = $scope, k.ontologies = $ontologies, k.replaces = $replaces,
              k.created_by = $created_by, k.valid_seconds = $valid_seconds, k.created_at = datetime.realtime(),
              k.expires_at = CASE WHEN $valid_seconds IS NULL THEN null
                                  ELSE datetime.realtime() + duration({seconds: $valid_seconds}) END
RETURN k.key_id AS key_id
