// Sources that say the same as before, at another place. They keep node, vector and evidence.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s += row
