// The pictures of an ontology.
CREATE INDEX image_by_ontology IF NOT EXISTS FOR (s:Image) ON (s.ontology)
