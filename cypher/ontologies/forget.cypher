// These sets of vectors of an ontology are to be removed.
MATCH (o:Ontology {name: $name})
SET o.leftovers = coalesce(o.leftovers, []) + [key IN $keys WHERE NOT key IN coalesce(o.leftovers, [])]
