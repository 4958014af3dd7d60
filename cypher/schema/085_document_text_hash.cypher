// What documents say as a whole, so that the same under another name is noticed: the next portion, in the order of ids.
MATCH (d:Document) WHERE d.document_id > $after AND d.content_hash IS NOT NULL
WITH d ORDER BY d.document_id LIMIT 200
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, coalesce(d.preface, '') AS preface,
       COLLECT {
         MATCH (s:Source) WHERE s.document_id = d.document_id AND s.paragraph >= 0
         RETURN s.content_hash ORDER BY s.paragraph
       } AS passages
ORDER BY document_id
