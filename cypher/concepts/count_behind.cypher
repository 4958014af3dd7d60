// Concepts that answer in one space, and would not in another, where they are not built yet.
MATCH (c:Concept)
WHERE c.ontology = $ontology AND c.concept_id > '' AND c[$answering_property] IS NOT NULL
  AND NOT c[$answering_property] STARTS WITH 'refused:'
  AND NOT coalesce(c[$mark_property], '') STARTS WITH $mark + ':'
  AND NOT coalesce(c[$mark_property], '') STARTS WITH $refused + ':'
RETURN count(c) AS behind
