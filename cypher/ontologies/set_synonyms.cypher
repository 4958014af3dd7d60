// Words that searches of an ontology take for each other, each group one text.
MATCH (o:Ontology {name: $name})
SET o.synonyms = $synonyms, o.changed_at = datetime.realtime()
RETURN o.name AS ontology
