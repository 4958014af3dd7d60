// How many pictures there are.
MATCH (s:Image)
WHERE $ontology IS NULL OR s.ontology = $ontology
RETURN count(s) AS images
