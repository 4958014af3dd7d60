// What the vocabularies of some ontologies make of types: of each that is there, the one it was merged into.
UNWIND $type_ids AS id
MATCH (t:RelationType {type_id: id})-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
RETURN t.type_id AS type_id, k.key AS key
