// Communities of the generation that is shown, of a level or of a parent, the largest first; each with what it is named by.
// The indexes are named: without statistics Neo4j reads all communities, once for each that is listed.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  CALL (o) {
    MATCH (c:Community {ontology: o.name, generation: o.communities_generation, level: $level})
    USING INDEX SEEK c:Community(ontology, generation, level, place)
    WHERE c.place IS NOT NULL AND $parent_id IS NULL
    RETURN c
    UNION ALL
    MATCH (c:Community {ontology: o.name, generation: o.communities_generation, parent_id: $parent_id})
    USING INDEX SEEK c:Community(ontology, generation, parent_id)
    RETURN c
  }
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
           parts: COUNT {
             MATCH (p:Community {ontology: c.ontology, generation: c.generation, parent_id: c.community_id})
             USING INDEX SEEK p:Community(ontology, generation, parent_id)
           },
           labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }}
       } AS found
