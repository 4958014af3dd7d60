// Sources know their document's title, so that full text finds it; a portion at a time, until none is left.
MATCH (s:Source)-[:PART_OF]->(d:Document) WHERE s.title IS NULL
WITH s, d LIMIT 5000
SET s.title = coalesce(d.title, d.document)
RETURN count(s) AS again
