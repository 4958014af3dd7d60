// From now on all sources of an ontology that have not this mark are flagged: new ones are when they come, others
// when they lose it. Without a mark: that is not known.
CYPHER 25
MATCH (o:Ontology {name: $ontology})
SET o[$note] = $mark_property + ':' + $mark
