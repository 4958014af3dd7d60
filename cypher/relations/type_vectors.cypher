// The vectors of some types' names.
UNWIND $ids AS id
MATCH (t:RelationType {type_id: id})
WHERE t[$property] IS NOT NULL
RETURN t.type_id AS type_id, t[$property] AS vector
