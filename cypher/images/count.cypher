// How many pictures there are.
MATCH (s:Image)
WHERE $ontologies IS NULL OR s.ontology IN $ontologies
RETURN count(s) AS images
