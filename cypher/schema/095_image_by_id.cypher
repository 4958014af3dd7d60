// The pictures of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX image_by_id IF NOT EXISTS FOR (s:Image) ON (s.ontology, s.source_id)
