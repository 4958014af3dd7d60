// The next concepts of an ontology that are embedded and not flagged are to be looked at again. In the order in which all lock them.
CYPHER 25
MATCH (c:Concept)
USING INDEX SEEK c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > $after
WITH c ORDER BY c.ontology, c.concept_id
WHERE c[$time_property] IS NOT NULL AND NOT c:Unlinked
WITH c LIMIT $limit
SET c:Unlinked
RETURN max(c.concept_id) AS after
