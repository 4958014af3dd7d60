// How many sources and passages there are, whether they have a vector or not: about as many as are in the vector indexes.
// Neo4j keeps both counts.
CYPHER 25
CALL () {
  MATCH (s:Source)
  RETURN count(s) AS sources
}
CALL () {
  MATCH (c:Chunk)
  RETURN count(c) AS chunks
}
RETURN sources + chunks AS passages
