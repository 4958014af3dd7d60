// The names of all ontologies, to find a document by its name or to say which name is nearest to a wrong one.
MATCH (o:Ontology)
RETURN o.name AS ontology
ORDER BY ontology
