// Vectors of relationship types whose name is still what was embedded; each is locked before it is looked at.
CYPHER 25
UNWIND $rows AS row
MATCH (t:RelationType {type_id: row.id})
SET t.held_at = datetime.realtime()
WITH t, row
WHERE t.text_hash = row.text_hash
CALL db.create.setNodeVectorProperty(t, $property, toFloatList(row.vector))
SET t[$mark_property] = $mark + ':' + row.text_hash, t[$time_property] = datetime.realtime(),
    t[$refusal_property] = null
RETURN count(t) AS written
