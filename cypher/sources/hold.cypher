// Locks sources that a batch was made for, so that whoever changes them comes before or after, not between; gives
// those that still say what was embedded, and where they are now.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph
