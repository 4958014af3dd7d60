// Words that searches take for each other, and the language of the sources, of ontologies that have either, or of one by
// its name.
MATCH (o:Ontology)
WHERE o.name = $name OR ($name IS NULL AND (o.synonyms IS NOT NULL OR o.language IS NOT NULL))
RETURN o.name AS ontology, coalesce(o.synonyms, []) AS synonyms, o.language AS language
ORDER BY ontology
