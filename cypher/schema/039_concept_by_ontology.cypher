// An ontology's concepts in the order of their ids.
CREATE INDEX concept_by_ontology IF NOT EXISTS FOR (c:Concept) ON (c.ontology, c.concept_id)
