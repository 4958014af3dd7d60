// All spaces, and the ontologies that use each.
MATCH (e:EmbeddingSpace)
RETURN e {.*} AS space, COLLECT {
  MATCH (o:Ontology) WHERE coalesce(o.space, 'default') = e.slug RETURN o.name ORDER BY o.name
} AS ontologies
ORDER BY e.created_at, e.slug
