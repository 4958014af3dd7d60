// What became one in an ontology, the last first: all, one by its id, or what became part of one concept.
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.pair >= '' AND ($merge_id IS NULL OR m.merge_id = $merge_id)
  AND ($concept_id IS NULL OR m.kept_id = $concept_id)
WITH m ORDER BY m.at DESC, m.merge_id
WITH collect(m {.merge_id, .ontology, .into, .merged, .sources, .reason, .similarity, .at, .undone_at, .undone_by,
               undoable: m.moved IS NOT NULL AND NOT m.moved CONTAINS '"appearances": [',
               concept_id: m.kept_id}) AS found
RETURN size(found) AS total, found[$offset..$offset + $limit] AS merges
