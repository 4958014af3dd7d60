// What became part of some concepts, and is it still.
UNWIND $ids AS id
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.kept_id = id AND m.undone_at IS NULL
RETURN DISTINCT m.gone_id AS gone
