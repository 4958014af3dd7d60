// How many documents each ontology has.
MATCH (o:Ontology)
RETURN o.name AS ontology, COUNT { MATCH (d:Document) WHERE d.ontology = o.name AND d.document >= '' } AS documents
ORDER BY ontology
