// What the vocabularies of some ontologies make of types: the types that they were merged into.
UNWIND $type_ids AS id
MATCH (t:RelationType {type_id: id})-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
RETURN DISTINCT k.key AS key
