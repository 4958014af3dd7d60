// How many proposals were left out because better ones are kept.
MATCH (o:Ontology {name: $ontology})
SET o.proposals_dropped = coalesce(o.proposals_dropped, 0) + $dropped
