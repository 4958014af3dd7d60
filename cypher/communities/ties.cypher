// How many concepts of an ontology have how many ties: sources that carry them, and relationships of them.
MATCH (c:Concept)
USING INDEX SEEK c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id >= ''
WITH COUNT { (c)-[:APPEARS_IN]->() } + COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } AS ties
RETURN ties, count(*) AS concepts
ORDER BY ties DESC
