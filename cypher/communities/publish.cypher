// A generation is whole: from now on it is the one that is shown. Safe to repeat.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.communities_building = $generation OR o.communities_generation = $generation
SET o.communities_generation = $generation, o.communities = $summary, o.communities_at = $at, o.communities_building = null
RETURN o.name AS ontology
