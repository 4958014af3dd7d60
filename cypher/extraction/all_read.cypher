// All of an ontology has been read by the extractor that somebody wanted, so that wish is fulfilled; unless another was
// asked for meanwhile.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.extraction_asked = $mark
REMOVE o.extraction_asked
