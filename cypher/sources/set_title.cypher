// The title of a document on its sources, where full text looks for it, and what it is found by beside its words.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.title = row.title, s.scope = row.scope
