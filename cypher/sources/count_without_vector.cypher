// How many sources of an ontology lack a vector of this space.
MATCH (s:Source)
WHERE s.ontology = $ontology AND (s.embedded_with IS NULL OR s.embedded_with <> $fingerprint)
RETURN count(s) AS missing
