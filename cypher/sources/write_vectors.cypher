// Vectors of sources that are one chunk each.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
CALL db.create.setNodeVectorProperty(s, $property, toFloatList(row.vector))
RETURN count(s) AS written
