// Sources that lost what was imported for them: an extractor may find the same, so it is to look again.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
SET s.extracted_with = null, s.unread = true
