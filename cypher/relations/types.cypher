// The types of an ontology, what each was merged into, and how many relationships are stated with it.
MATCH (t:RelationType)
WHERE t.ontology = $ontology AND t.type_id > ''
MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
CALL (t) {
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id = t.type_id
  RETURN count(r) AS relations
}
RETURN t.type_id AS type_id, t.name AS name, t.stance AS stance, k.type_id AS into, relations,
       t[$property] IS NOT NULL AS embedded
