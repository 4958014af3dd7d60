// Sources know their document's title, so that full text finds it; a portion at a time, in the order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 5000
OPTIONAL MATCH (s)-[:PART_OF]->(d:Document)
SET s.title = coalesce(s.title, d.title, d.document)
RETURN max(s.source_id) AS after
