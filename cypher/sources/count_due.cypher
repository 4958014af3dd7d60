// How many sources of an ontology are not embedded as they should be.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND (s[$mark_property] IS NULL OR s[$mark_property] <> $mark)
RETURN count(s) AS due
