// Types become part of another, and it is recorded: what, how many relationships, who and when; and that their
// relationships are being renamed.
MATCH (k:RelationType {type_id: $into})
CREATE (m:TypeMerge {merge_id: $merge_id, ontology: $ontology, into: k.name, relations: $relations, by: $by,
                     at: datetime.realtime(), renaming: randomUUID()})
WITH k, m
UNWIND $merged AS id
MATCH (t:RelationType {type_id: id})
CREATE (t)-[:MERGED_INTO {merge_id: m.merge_id}]->(k)
WITH m, t ORDER BY t.name
WITH m, collect(t.name) AS names
SET m.merged = names
RETURN m {.merge_id, .ontology, .into, .merged, .relations, .by, .at} AS merge
