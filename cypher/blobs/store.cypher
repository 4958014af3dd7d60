// The store that has the files of this database's blobs, where it is known.
MATCH (s:BlobStore)
RETURN s.store_id AS store_id
