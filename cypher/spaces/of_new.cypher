// The spaces of ontologies that nobody has configured: of their texts, and of their pictures.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
RETURN coalesce(min(CASE WHEN coalesce(e.modality, 'text') = 'text' THEN e.slug END), 'default') AS text,
       coalesce(min(CASE WHEN e.modality = 'image' THEN e.slug END), 'default_images') AS image
