// Sets of vectors of ontologies that are to be removed.
MATCH (o:Ontology)
WHERE o.leftovers IS NOT NULL
RETURN o.name AS ontology, o.leftovers AS keys
ORDER BY ontology
