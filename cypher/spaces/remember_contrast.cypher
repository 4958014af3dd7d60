// What the model's cosines of related and of unrelated texts are; kept from the first time on.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.related IS NULL
SET e.related = $related, e.unrelated = $unrelated
RETURN e.slug AS slug
