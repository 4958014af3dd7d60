// The merges of an ontology, and whether two concepts were parted.
CREATE INDEX concept_merge_by_pair IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.pair)
