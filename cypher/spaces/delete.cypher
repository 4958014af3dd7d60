// A space whose vectors have gone.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.dropping IS NOT NULL
DELETE e
