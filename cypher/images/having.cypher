// Which of some ontologies have a picture.
UNWIND $ontologies AS name
WITH name WHERE EXISTS { MATCH (s:Image) WHERE s.ontology = name }
RETURN name
