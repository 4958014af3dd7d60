// How links are proposed in an ontology from now on.
MATCH (o:Ontology {name: $name})
SET o.proposals = $proposals, o.changed_at = datetime.realtime()
RETURN o.name AS ontology
