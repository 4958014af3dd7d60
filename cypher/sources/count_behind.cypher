// Sources that answer as they are embedded now, and would not as they shall be: not built yet, or refused.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$answering_property] IS NOT NULL
  AND NOT s[$answering_property] STARTS WITH 'refused:' AND (s[$mark_property] IS NULL OR s[$mark_property] <> $mark)
RETURN count(CASE WHEN coalesce(s[$mark_property], '') <> $refused THEN 1 END) AS behind,
       count(CASE WHEN s[$mark_property] = $refused THEN 1 END) AS refused
