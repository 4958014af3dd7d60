// Whether somebody has parted these two concepts: then they are two, however alike they are.
OPTIONAL MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.pair = $pair AND m.undone_at IS NOT NULL
RETURN count(m) > 0 AS parted
