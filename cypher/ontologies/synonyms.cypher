// Words that searches take for each other, of ontologies that have any, or of one by its name.
MATCH (o:Ontology)
WHERE o.name = $name OR ($name IS NULL AND o.synonyms IS NOT NULL)
RETURN o.name AS ontology, coalesce(o.synonyms, []) AS synonyms
ORDER BY ontology
