// The sets of vectors that were to be removed have gone.
MATCH (o:Ontology {name: $name})
SET o.leftovers = null
