// What became part of a concept.
CREATE INDEX concept_merge_by_kept IF NOT EXISTS FOR (m:ConceptMerge) ON (m.ontology, m.kept_id)
