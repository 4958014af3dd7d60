// One portion of sources, in the order of their ids, loses some properties: vectors and marks of a space.
MATCH (s:Source)
WHERE s.source_id > $after AND ($ontology IS NULL OR s.ontology = $ontology)
WITH s ORDER BY s.source_id LIMIT $limit
FOREACH (name IN $properties | SET s[name] = null)
RETURN max(s.source_id) AS last
