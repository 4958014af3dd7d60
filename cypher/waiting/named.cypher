// Those of some names that wait, as they were given.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document IN $documents
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document
