// What was made of the communities of ontologies, and when the concepts were read that they are of.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.communities AS communities, o.communities_at AS at
ORDER BY ontology
