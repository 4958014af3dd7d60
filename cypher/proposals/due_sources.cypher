// Sources that are to be looked at, with the time of their vectors: another one by the end means to look again.
CYPHER 25
MATCH (s:Unlinked)
WHERE s.ontology = $ontology AND s:Source
RETURN s.source_id AS id, s.content_hash AS text_hash, toString(s[$time_property]) AS at
LIMIT $limit
