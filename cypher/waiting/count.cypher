// How many documents of each ontology wait, or of some.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
RETURN w.awaits AS ontology, count(w) AS waiting
ORDER BY ontology
