// How many transactions have changed documents: each leaves a node, for that locks nothing, and Neo4j knows their number
// without looking at them.
MATCH (w:DocumentWrite)
RETURN count(w) AS writes
