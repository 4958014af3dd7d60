// How many transactions have changed documents: each leaves a node, for that locks nothing, and Neo4j knows their number
// without looking at them. They are counted before those that were taken away: what goes in between counts twice, so that
// nobody reads a number that was there before.
MATCH (w:DocumentWrite)
WITH count(w) AS there
OPTIONAL MATCH (p:DocumentWritesPruned)
WITH there, sum(p.writes) AS pruned
RETURN there + pruned AS writes
