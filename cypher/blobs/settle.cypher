// Blobs that are used.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
REMOVE b:LooseBlob
