// Communities of generations that are neither shown nor being made, whose memberships have gone.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
    AND NOT c.generation IN [coalesce(o.communities_generation, ''), coalesce(o.communities_building, '')]
  WITH c LIMIT $limit
  DETACH DELETE c
  RETURN count(*) AS discarded
}
RETURN discarded
