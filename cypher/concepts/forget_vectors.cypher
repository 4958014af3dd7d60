// One portion of concepts, in the order of their ids, loses some properties: vectors and marks of a space.
MATCH (c:Concept)
WHERE c.concept_id > $after AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.concept_id LIMIT $limit
FOREACH (name IN $properties | SET c[name] = null)
RETURN max(c.concept_id) AS last
