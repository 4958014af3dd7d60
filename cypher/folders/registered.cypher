// The folders of an ontology, and which call registered each.
MATCH (f:Folder {ontology: $ontology})
RETURN f.path AS path, f.registered_by AS registered_by
ORDER BY path
