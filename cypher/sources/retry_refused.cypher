// Sources that were set aside are tried again.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$mark_property] = $refused
SET s[$mark_property] = null, s[$refusal_property] = null
RETURN count(s) AS sources
