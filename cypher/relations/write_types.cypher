// The types of relationships that an ontology's sources state. Those that are there are locked: nobody merges a type
// while relationships of it come in.
UNWIND $rows AS row
MERGE (t:RelationType {type_id: row.type_id})
ON CREATE SET t.ontology = $ontology, t.name = row.name, t.key = row.key, t.text_hash = row.text_hash,
              t.created_at = datetime.realtime()
SET t.held_at = datetime.realtime()
