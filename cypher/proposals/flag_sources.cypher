// The next sources of an ontology that are embedded and not flagged are to be looked at again. In the order in which all lock them.
CYPHER 25
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$time_property] IS NOT NULL
  AND NOT s:Unlinked
WITH s LIMIT $limit
WITH s ORDER BY s.source_id
SET s:Unlinked
RETURN count(s) AS flagged
