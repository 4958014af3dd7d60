// Relationships that their source does not state any more.
UNWIND $ids AS id
MATCH ()-[r:RELATED_TO {relation_id: id}]->()
DELETE r
