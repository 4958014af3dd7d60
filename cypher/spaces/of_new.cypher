// The space of ontologies that nobody has configured.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
RETURN coalesce(min(e.slug), 'default') AS slug
