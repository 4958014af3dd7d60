// An ontology goes when its last document has gone.
MATCH (o:Ontology {name: $name})
WHERE NOT EXISTS { (:Document)-[:IN_ONTOLOGY]->(o) }
DETACH DELETE o
