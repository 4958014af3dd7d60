// The concepts of a community, those that are most its own first.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id SKIP $offset LIMIT $limit
RETURN k.concept_id AS concept_id, k.ontology AS ontology, k.label AS label, k.description AS description,
       k.search_terms AS search_terms, COUNT { (k)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (k)-[:EVIDENCED_BY]->() } AS verified, m.weight AS weight
ORDER BY m.place, concept_id
