// These sources have been looked at, but for those that were embedded anew meanwhile.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.id})
SET s.held_at = null
WITH s, row
WHERE coalesce(toString(s[$time_property]), '') = coalesce(row.at, '')
REMOVE s:Unlinked
RETURN count(s) AS seen
