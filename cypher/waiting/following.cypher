// The next ones that wait, in the order of their names, as they were given.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document > $after
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document
LIMIT $limit
