// How many documents of each ontology wait, or of one.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontology IS NULL OR w.awaits = $ontology)
RETURN w.awaits AS ontology, count(w) AS waiting
ORDER BY ontology
