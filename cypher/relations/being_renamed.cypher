// Merges of types, or their undoings, after which relationships may still have their old names; all, or one.
MATCH (m:TypeMerge)
WHERE m.renaming IS NOT NULL AND ($merge_id IS NULL OR m.merge_id = $merge_id)
RETURN m.merge_id AS merge_id, m.ontology AS ontology, m.merged AS merged, m.renaming AS renaming
ORDER BY m.at
