// Locks spaces, in the order of their names, and gives those that nobody is removing: whoever removes one comes
// before or after whoever begins to use it.
UNWIND $slugs AS slug
MATCH (e:EmbeddingSpace {slug: slug})
SET e.held_at = datetime.realtime()
WITH e
WHERE e.dropping IS NULL
RETURN e.slug AS slug
