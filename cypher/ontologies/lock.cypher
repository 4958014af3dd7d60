// Whoever deletes an ontology holds it first, so that nothing is added meanwhile.
MATCH (o:Ontology {name: $name})
SET o.changed_at = datetime.realtime()
RETURN o.name AS ontology
