// How many documents there are.
MATCH (d:Document)
WHERE ($ontology IS NULL OR d.ontology = $ontology) AND d.updated_at IS NOT NULL
RETURN count(d) AS total
