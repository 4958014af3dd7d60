// The relationships of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_by_ontology IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.ontology, r.relation_id)
