// How many concepts an ontology has.
MATCH (c:Concept {ontology: $ontology})
RETURN count(c) AS total
