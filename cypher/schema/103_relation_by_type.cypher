// The relationships that are stated with a type.
CREATE INDEX relation_by_type IF NOT EXISTS FOR ()-[r:RELATED_TO]-() ON (r.type_id)
