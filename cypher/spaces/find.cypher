// A space of the registry.
MATCH (e:EmbeddingSpace {slug: $slug})
RETURN e {.*} AS space
