// How links are proposed in an ontology from now on.
MATCH (o:Ontology {name: $name})
SET o.proposals = $proposals
