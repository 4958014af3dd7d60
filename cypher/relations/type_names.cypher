// The names of types in some ontologies, at most so many.
UNWIND $ontologies AS ontology
MATCH (t:RelationType)
WHERE t.ontology = ontology AND t.type_id > ''
WITH t LIMIT $limit
RETURN DISTINCT t.name AS name
ORDER BY name
