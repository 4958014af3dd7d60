// The space is being removed: from now on nothing is written to it.
MATCH (e:EmbeddingSpace {slug: $slug})
SET e.dropping = coalesce(e.dropping, datetime.realtime()), e.held_at = datetime.realtime()
