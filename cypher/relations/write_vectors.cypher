// Vectors of relationships whose text is still what was embedded; each is locked before it is looked at.
CYPHER 25
UNWIND $rows AS row
MATCH ()-[r:RELATED_TO {relation_id: row.id}]->()
SET r.held_at = datetime.realtime()
WITH r, row
WHERE r.text_hash = row.text_hash
CALL db.create.setRelationshipVectorProperty(r, $property, toFloatList(row.vector))
SET r[$mark_property] = $mark + ':' + row.text_hash, r[$time_property] = datetime.realtime(),
    r[$refusal_property] = null, r.held_at = null
RETURN count(r) AS written
