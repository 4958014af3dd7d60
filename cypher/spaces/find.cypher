// A space of the registry.
MATCH (e:EmbeddingSpace {slug: $slug})
RETURN e.slug AS slug, e.provider AS provider, e.model AS model, e.revision AS revision,
       e.dimensions AS dimensions, e.fingerprint AS fingerprint, e.index_name AS index_name
