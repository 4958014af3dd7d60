// How many documents there are.
MATCH (d:Document)
WHERE $ontology IS NULL OR d.ontology = $ontology
RETURN count(d) AS total
