// A picture whose file is lost is set aside, unless the file came again meanwhile. One that has the vector that it
// should have keeps it: that says what was seen on the file.
CYPHER 25
MATCH (s:Source {source_id: $id})-[:STORED_AS]->(b:Blob {key: $storage_key})
WHERE s:Image
SET b.touched_at = datetime.realtime(), s.held_at = datetime.realtime()
WITH s, b
WHERE b.lost = true AND s.storage_key = $storage_key
WITH s, coalesce(s[$mark_property] = $mark + ':' + $storage_key, false) AS right
SET s[$time_property] = datetime.realtime(), s.held_at = null,
    s[$mark_property] = CASE WHEN right THEN s[$mark_property] ELSE $refused + ':' + $storage_key END,
    s[$refusal_property] = CASE WHEN right THEN null ELSE $reason END,
    s[$property] = CASE WHEN right THEN s[$property] END
RETURN s.source_id AS source_id
