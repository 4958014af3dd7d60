// The space that new ontologies used before this one, if it is still there, and of the same: texts or pictures.
MATCH (e:EmbeddingSpace {slug: $slug})
MATCH (before:EmbeddingSpace {slug: e.for_new_after})
WHERE before.dropping IS NULL AND coalesce(before.modality, 'text') = coalesce(e.modality, 'text')
RETURN before.slug AS slug
