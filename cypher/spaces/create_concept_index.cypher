// The vector index of a space's concepts; the filter of a search runs inside it. It is written for the first space:
// another one's index and property have its slug behind their names.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR (n:Concept) ON n.embedding
WITH [n.ontology]
OPTIONS $options
