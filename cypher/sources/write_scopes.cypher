// What full text finds sources by beside their text; those that were changed meanwhile have it already. They are locked
// before they are compared. The first source of a document has its aliases, which are metadata.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash AND s.heading = row.heading AND coalesce(s.title, '') = row.title
      AND s.paragraph = row.paragraph
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE row.paragraph = 0
WITH s, row, d WHERE coalesce(d.metadata, '') = coalesce(row.metadata, '')
SET s.scope = row.scope
