// How many concepts of an ontology are not embedded as they should be; those left out that wait until they are wanted.
MATCH (c:Concept)
WHERE c.ontology = $ontology AND c.concept_id > ''
  AND (NOT coalesce(c[$mark_property], '') IN [$mark + ':' + c.text_hash, $refused + ':' + c.text_hash]
    OR c[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(c[$mark_property], c[$answering_property]) IS NULL))
  AND ($wants_all OR coalesce(c[$mark_property], c[$answering_property]) IS NOT NULL OR COUNT { (c)-[:APPEARS_IN]->() } > 1)
RETURN count(c) AS due
