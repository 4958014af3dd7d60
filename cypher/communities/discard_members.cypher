// Memberships of generations that are neither shown nor being made.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
    AND NOT c.generation IN [coalesce(o.communities_generation, ''), coalesce(o.communities_building, '')]
  MATCH (c)-[m:MEMBER_OF|NAMED_BY]-()
  WITH m LIMIT $limit
  DELETE m
  RETURN count(*) AS discarded
}
RETURN discarded
