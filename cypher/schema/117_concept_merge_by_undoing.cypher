// The merges of an ontology that were taken back: what must stay apart.
CREATE INDEX concept_merge_by_undoing IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.undone_at)
