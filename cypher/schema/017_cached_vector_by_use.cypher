// The least recently used go first when there are too many.
CREATE INDEX cached_vector_by_use IF NOT EXISTS FOR (v:CachedVector) ON (v.used_at)
