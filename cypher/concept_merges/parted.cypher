// The pairs of concepts of an ontology that somebody has parted.
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.undone_at IS NOT NULL
RETURN DISTINCT m.pair AS pair
