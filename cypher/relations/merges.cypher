// What was merged in an ontology, the last first.
MATCH (m:TypeMerge)
WHERE m.ontology = $ontology AND ($merge_id IS NULL OR m.merge_id = $merge_id)
WITH m ORDER BY m.at DESC, m.merge_id
WITH collect(m {.merge_id, .ontology, .into, .merged, .relations, .by, .at, .undone_at, .undone_by}) AS found
RETURN size(found) AS total, found[$offset..$offset + $limit] AS merges
