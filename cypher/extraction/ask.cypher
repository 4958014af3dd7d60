// Somebody wants all of an ontology to be read by an extractor of this mark, what another has read, too; where that is null, nobody does.
MATCH (o:Ontology {name: $ontology})
SET o.extraction_asked = $mark
