// Whether all sources of an ontology that have not this mark are flagged.
MATCH (o:Ontology {name: $ontology})
RETURN coalesce(o[$note] = $mark_property + ':' + $mark, false) AS flagged
