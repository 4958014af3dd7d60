// Some of the nodes that writes of documents leave go; how many there were is kept.
CYPHER 25
MATCH (w:DocumentWrite)
WITH w LIMIT $limit
WITH collect(w) AS gone
MERGE (p:DocumentWritesPruned)
ON CREATE SET p.writes = 0
SET p.writes = p.writes + size(gone)
FOREACH (w IN gone | DELETE w)
RETURN size(gone) AS pruned
