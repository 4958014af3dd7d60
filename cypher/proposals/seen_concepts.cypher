// These concepts have been looked at, but for those that were embedded anew meanwhile. Whoever asks has locked them.
CYPHER 25
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.id})
WHERE coalesce(toString(c[$time_property]), '') = coalesce(row.at, '')
REMOVE c:Unlinked
RETURN count(c) AS seen
