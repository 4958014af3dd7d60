// The types of an ontology in the order of their ids: what is due of them is looked for so.
CREATE INDEX relation_type_by_ontology IF NOT EXISTS FOR (t:RelationType) ON (t.ontology, t.type_id)
