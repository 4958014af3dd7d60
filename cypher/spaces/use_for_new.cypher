// New ontologies use this space from now on.
MATCH (e:EmbeddingSpace)
SET e.for_new = CASE WHEN e.slug = $slug THEN true ELSE null END
