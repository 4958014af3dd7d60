// Somebody wants all of an ontology to be read by an extractor of this mark, what another has read, too.
MATCH (o:Ontology {name: $ontology})
SET o.extraction_asked = $mark
