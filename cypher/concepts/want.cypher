// Somebody wants an ontology's concepts by meaning: from now on those of a single source are embedded, too.
MATCH (o:Ontology {name: $ontology})
WHERE o.concepts_wanted_at IS NULL
SET o.concepts_wanted_at = datetime.realtime()
RETURN o.name AS ontology
