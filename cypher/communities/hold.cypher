// Locks an ontology while a part of a generation is written, so that it is not deleted meanwhile; nothing where it has
// gone, is another of that name, or another generation is being made.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.communities_building = $generation
RETURN o.name AS ontology
