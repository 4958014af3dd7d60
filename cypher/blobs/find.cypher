// A blob, and of which generation its file is.
MATCH (b:Blob {key: $key})
RETURN b.key AS key, b.generation AS generation
