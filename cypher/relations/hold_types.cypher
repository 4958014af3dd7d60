// Locks types of an ontology, in the order of their ids; and what each was merged into, and how
// many relationships are of it and of what was merged into it. Whoever writes relationships of
// one waits.
UNWIND $ids AS id
MATCH (t:RelationType {type_id: id})
SET t.held_at = datetime.realtime()
WITH t, id
WHERE t.type_id = id
OPTIONAL MATCH (t)-[i:MERGED_INTO]->(k:RelationType)
CALL (t) {
  MATCH (m:RelationType)-[:MERGED_INTO*0..20]->(t)
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id = m.type_id
  RETURN count(r) AS relations
}
RETURN t.type_id AS type_id, t.name AS name, t.stance AS stance, k.name AS into, k.type_id AS into_id, i.merge_id AS merge_id,
       relations
