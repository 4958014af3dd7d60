// Backfill walks an ontology's sources in the order of their ids.
CREATE INDEX source_by_ontology IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.source_id)
