// A blob whose file is missing or damaged.
MATCH (b:Blob {key: $key})
SET b.lost = true
