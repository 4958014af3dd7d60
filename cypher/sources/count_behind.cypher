// Sources that answer as they are embedded now, and would not as they shall be: they are not built yet.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$answering_property] IS NOT NULL
  AND (s[$mark_property] IS NULL OR (s[$mark_property] <> $mark AND s[$mark_property] <> $refused))
RETURN count(s) AS behind
