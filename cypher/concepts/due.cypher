// The next concepts of an ontology, in the order of their ids, that are not embedded as they should be: in this space,
// with the text that they have now. One of a single source that never had a vector is not due before somebody wants
// the ontology's concepts by meaning.
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > $after
WITH c ORDER BY c.ontology, c.concept_id
WHERE (NOT coalesce(c[$mark_property], '') IN [$mark + ':' + c.text_hash, $refused + ':' + c.text_hash]
    OR c[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(c[$mark_property], c[$answering_property]) IS NULL))
  AND ($wants_all OR coalesce(c[$mark_property], c[$answering_property]) IS NOT NULL OR COUNT { (c)-[:APPEARS_IN]->() } > 1)
RETURN c.concept_id AS concept_id, c.label AS label, c.description AS description, c.search_terms AS search_terms,
       c.text_hash AS text_hash
LIMIT $limit
