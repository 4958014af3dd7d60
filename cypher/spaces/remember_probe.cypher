// What the model answers to the probe text; kept from the first time on.
CYPHER 25
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.probe IS NULL
CALL db.create.setNodeVectorProperty(e, 'probe', toFloatList($vector))
RETURN e.slug AS slug
