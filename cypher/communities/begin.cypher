// A generation of communities is being made: what another job makes meanwhile counts no more.
MATCH (o:Ontology {name: $ontology})
SET o.communities_building = $generation
RETURN o.name AS ontology
