// The least recently used contexts go first when there are too many.
CREATE INDEX cached_context_by_use IF NOT EXISTS FOR (x:CachedContext) ON (x.used_at)
