// Blobs that nothing uses go. What is left tells which files are to be deleted: names that no blob has any more, nor
// ever will have.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
CREATE (:DeadBlob {key: b.key, generation: b.generation})
DETACH DELETE b
