// What full text finds sources by beside their text; those that were changed meanwhile have it already. They are locked
// before they are compared.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash AND s.heading = row.heading AND coalesce(s.title, '') = row.title
SET s.scope = row.scope
