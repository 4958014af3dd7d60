// A merge is taken back, once; the ids of the types that are on their own again.
MATCH (m:TypeMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
WITH m
WHERE m.undone_at IS NULL
SET m.undone_at = datetime.realtime(), m.undone_by = $by, m.renaming = randomUUID()
WITH m
MATCH (t:RelationType)-[r:MERGED_INTO {merge_id: m.merge_id}]->(:RelationType)
WHERE t.ontology = m.ontology AND t.type_id > ''
DELETE r
RETURN t.type_id AS type_id
