// One portion of the chunks of a space goes, in the order of their ids.
MATCH (c:Chunk)
WHERE c.chunk_id > $after AND c.space IN $keys AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.chunk_id LIMIT $limit
WITH collect(c) AS gone, max(c.chunk_id) AS last
FOREACH (c IN gone | DETACH DELETE c)
RETURN last
