// The vector index of the first space; the filters of a search run inside it.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR (n:Source|Chunk) ON n.embedding
WITH [n.ontology, n.document_id]
OPTIONS $options
