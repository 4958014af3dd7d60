// The vector index of a space's relationships; the filters of a search run inside it. It is written for the first space:
// another one's index and property have its slug behind their names.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR ()-[n:RELATED_TO]-() ON n.embedding
WITH [n.ontology, n.type_key]
OPTIONS $options
