// Blobs whose files were seen to be missing or damaged.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
WHERE b.lost
RETURN key
