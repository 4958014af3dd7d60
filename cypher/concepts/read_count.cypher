// How many concepts an ontology has.
MATCH (c:Concept {ontology: $ontology})
WHERE c.concept_id >= ''
RETURN count(c) AS total
