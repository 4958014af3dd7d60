// All sources of an ontology are looked at, and some that have not this mark are flagged, if they were not. A flag too
// many does no harm: whoever looks at those that are flagged reads their marks. In the order in which all lock them.
CYPHER 25
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND coalesce(s[$mark_property], '') <> $mark AND s[$flag] IS NULL
WITH s LIMIT $limit
WITH s ORDER BY s.source_id
SET s[$flag] = true
RETURN count(s) AS flagged
