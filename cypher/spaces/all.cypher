// All spaces, without who uses them.
MATCH (e:EmbeddingSpace)
RETURN e {.*} AS space
ORDER BY e.created_at, e.slug
