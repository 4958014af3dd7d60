// The communities of the generation that is shown whose id begins so; more than one is no answer.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation = o.communities_generation AND c.community_id STARTS WITH $prefix
  RETURN c LIMIT $limit
}
RETURN o.communities_at AS at, c {.community_id, .generation, .level, .parent_id, .inside,
  size: COUNT { (c)<-[:MEMBER_OF]-() },
  parts: COUNT { MATCH (p:Community) WHERE p.ontology = c.ontology AND p.generation = c.generation AND p.parent_id = c.community_id },
  labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }} AS community
ORDER BY community.community_id
