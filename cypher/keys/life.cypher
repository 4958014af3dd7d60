// For how long a key was made, whatever became of it since; null: for ever.
MATCH (k:ApiKey {key_id: $key_id})
RETURN k.valid_seconds AS seconds
