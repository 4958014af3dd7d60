// What waits for an ontology, or was rejected, goes with it: the next portion.
MATCH (w:WaitingDocument)
WHERE w.ontology = $ontology
WITH w LIMIT $limit
DETACH DELETE w
RETURN count(*) AS removed
