// Concepts that are to be looked at, with the time of their vectors: another one by the end means to look again.
CYPHER 25
MATCH (c:Unlinked)
WHERE c.ontology = $ontology AND c:Concept
RETURN c.concept_id AS id, c.text_hash AS text_hash, toString(c[$time_property]) AS at
LIMIT $limit
