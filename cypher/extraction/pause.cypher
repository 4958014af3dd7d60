// Extraction that was cancelled for an ontology is not begun again until somebody asks for it.
MATCH (o:Ontology {name: $ontology})
SET o.extraction_paused = true
