// An ontology's concepts, those that most sources carry first.
MATCH (c:Concept {ontology: $ontology})
WHERE c.concept_id >= ''
WITH c, COUNT { (c)-[:APPEARS_IN]->() } AS sources
ORDER BY sources DESC, c.label, c.concept_id
SKIP $offset LIMIT $limit
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, sources, EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified
ORDER BY sources DESC, label, concept_id
