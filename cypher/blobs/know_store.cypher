// The store that has the files of this database's blobs: the first one that was used. There is one, for whoever comes
// takes turns by the lock of a record that is always there.
MATCH (m:Migration {name: 'schema/090_blob_key'})
SET m.applied_at = m.applied_at
MERGE (s:BlobStore)
ON CREATE SET s.store_id = $store_id
RETURN s.store_id AS store_id
