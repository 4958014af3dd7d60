// Whether a space is still being removed, by the same wish.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE toString(e.dropping) = $since
RETURN e.slug AS slug
