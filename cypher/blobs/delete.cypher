// A blob whose file was deleted.
MATCH (b:Blob {key: $key})
DETACH DELETE b
