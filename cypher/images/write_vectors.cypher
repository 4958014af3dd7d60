// Vectors of pictures whose file is still what was embedded; each is locked before it is looked at.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WHERE s:Image
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.storage_key = row.storage_key
CALL db.create.setNodeVectorProperty(s, $property, toFloatList(row.vector))
SET s[$mark_property] = $mark + ':' + row.storage_key, s[$time_property] = datetime.realtime(),
    s[$refusal_property] = null
RETURN count(s) AS written
