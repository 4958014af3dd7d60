// A space whose vectors have gone; another one of its name is not the one that new ontologies used before.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE toString(e.dropping) = $since
OPTIONAL MATCH (after:EmbeddingSpace {for_new_after: $slug})
SET after.for_new_after = null
WITH DISTINCT e
DELETE e
