// Communities of the generation that is shown, of a level or of a parent, the largest first; each with what it is named by.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation = o.communities_generation
    AND ($parent_id IS NULL AND c.level = $level OR c.parent_id = $parent_id)
  WITH c, COUNT { (c)<-[:MEMBER_OF]-() } AS size
  WHERE size > 0
  ORDER BY size DESC, c.place
  RETURN collect({community: c, size: size}) AS found
}
WITH o, size(found) AS total, found[$offset..$offset + $limit] AS some
RETURN o.name AS ontology, o.communities AS communities, o.communities_at AS at, total,
       COLLECT {
         UNWIND some AS each
         WITH each.community AS c, each.size AS size
         RETURN c {.community_id, .level, .parent_id, .inside, size: size,
           parts: COUNT { MATCH (p:Community) WHERE p.ontology = c.ontology AND p.generation = c.generation AND p.parent_id = c.community_id },
           labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }}
       } AS found
