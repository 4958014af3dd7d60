// New ontologies use this space from now on, for what it is of: texts or pictures.
MATCH (chosen:EmbeddingSpace {slug: $slug})
MATCH (e:EmbeddingSpace)
WHERE coalesce(e.modality, 'text') = coalesce(chosen.modality, 'text')
SET e.for_new = CASE WHEN e.slug = $slug THEN true ELSE null END
