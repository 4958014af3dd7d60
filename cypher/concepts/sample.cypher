// Some concepts of an ontology, to estimate what embedding them will take.
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > ''
RETURN c.concept_id AS concept_id, c.label AS label, c.description AS description, c.search_terms AS search_terms,
       c.text_hash AS text_hash
LIMIT $limit
