// The communities of the generation that is shown whose id begins so; more than one is no answer.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  USING INDEX SEEK c:Community(generation, community_id)
  WHERE c.ontology = o.name AND c.generation = o.communities_generation AND c.community_id STARTS WITH $prefix
  RETURN c LIMIT $limit
}
RETURN o.communities_at AS at, c {.community_id, .generation, .level, .parent_id, .inside,
  size: COUNT { (c)<-[:MEMBER_OF]-() },
  parts: COUNT {
    MATCH (p:Community {ontology: c.ontology, generation: c.generation, parent_id: c.community_id})
    USING INDEX SEEK p:Community(ontology, generation, parent_id)
  },
  labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }} AS community
ORDER BY community.community_id
