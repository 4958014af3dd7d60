// The store that has the files of this database's blobs has another marker than was thought.
MATCH (s:BlobStore {store_id: $instead_of})
SET s.store_id = $store_id
