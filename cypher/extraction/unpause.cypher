// Somebody asks for the extraction again that was cancelled.
MATCH (o:Ontology {name: $ontology})
WHERE o.extraction_paused
REMOVE o.extraction_paused
