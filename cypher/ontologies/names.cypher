// The names of all ontologies.
MATCH (o:Ontology) RETURN o.name AS ontology ORDER BY ontology
