// The relationships that a source states go with it.
CREATE INDEX relation_by_source IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.source_id)
