// A space whose vectors have gone.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE toString(e.dropping) = $since
DELETE e
