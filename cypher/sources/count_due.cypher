// How many sources of an ontology are not embedded as they should be.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.document_id < $until AND s.paragraph >= 0
  AND (s[$mark_property] IS NULL OR (s[$mark_property] <> $mark AND s[$mark_property] <> $refused)
    OR s[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(s[$mark_property], s[$answering_property]) IS NULL))
RETURN count(s) AS due
