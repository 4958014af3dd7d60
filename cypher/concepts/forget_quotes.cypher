// Quotes that are not found any more.
UNWIND $ids AS id
MATCH (i:Instance {instance_id: id})
DETACH DELETE i
