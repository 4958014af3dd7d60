// Concepts that were set aside are tried again.
MATCH (c:Concept)
WHERE c.ontology = $ontology AND c.concept_id > '' AND c[$mark_property] STARTS WITH $refused + ':'
SET c[$mark_property] = null, c[$refusal_property] = null
RETURN count(c) AS concepts
