// A blob that is used.
MATCH (b:Blob {key: $key})
REMOVE b:LooseBlob
