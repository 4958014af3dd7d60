// Somebody asks for the work again that was cancelled.
MATCH (o:Ontology {name: $ontology})
WHERE o.paused
REMOVE o.paused
