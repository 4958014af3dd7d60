// Nothing follows files into an ontology that is being deleted.
MATCH (f:Folder {ontology: $ontology})
DETACH DELETE f
