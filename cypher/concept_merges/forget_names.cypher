// Names that meant a concept mean nothing any more: whoever finds one makes a concept of it.
UNWIND $name_ids AS id
MATCH (n:ConceptName {name_id: id})
DETACH DELETE n
