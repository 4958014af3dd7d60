// The space that new ontologies used before this one, if it is still there.
MATCH (e:EmbeddingSpace {slug: $slug})
MATCH (before:EmbeddingSpace {slug: e.for_new_after})
WHERE before.dropping IS NULL
RETURN before.slug AS slug
