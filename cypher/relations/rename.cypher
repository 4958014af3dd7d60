// A portion of the relationships of some types, and of those that were merged into these, gets the type that the
// vocabulary makes of the one that is stated; 0: all have it.
UNWIND $type_ids AS id
MATCH (t:RelationType)-[:MERGED_INTO*0..20]->(:RelationType {type_id: id})
MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
MATCH ()-[r:RELATED_TO]->()
USING INDEX r:RELATED_TO(type_id)
WHERE r.type_id = t.type_id AND r.type_key <> k.key
WITH DISTINCT r, t, k LIMIT $limit
SET r.type = CASE WHEN k = t THEN r.stated_type ELSE k.name END, r.type_key = k.key
RETURN count(r) AS renamed
