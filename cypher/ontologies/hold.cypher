// Locks ontologies, in the order of their names, so that their configurations change one after the other.
UNWIND $names AS name
MATCH (o:Ontology {name: name})
SET o.changed_at = datetime.realtime()
