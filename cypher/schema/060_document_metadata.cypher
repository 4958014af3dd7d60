// Documents whose metadata gets properties of its own, to be compared: the next portion, in the order of their ids.
MATCH (d:Document) WHERE d.document_id > $after AND d.metadata IS NOT NULL
WITH d ORDER BY d.document_id LIMIT 1000
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.metadata AS metadata
ORDER BY document_id
