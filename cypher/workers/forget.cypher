// A worker has gone.
MATCH (w:Worker {name: $name})
DELETE w
