// Sets of vectors that were to be removed have gone; others may have been noted meanwhile.
MATCH (o:Ontology {name: $name})
WITH o, [key IN coalesce(o.leftovers, []) WHERE NOT key IN $keys] AS left
SET o.leftovers = CASE WHEN left = [] THEN null ELSE left END
