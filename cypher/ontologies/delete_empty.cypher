// An ontology goes when its last document has gone. It is locked first: a document may just be coming in.
MATCH (o:Ontology {name: $name})
SET o.changed_at = datetime.realtime()
WITH o
WHERE NOT EXISTS { (:Document)-[:IN_ONTOLOGY]->(o) }
DETACH DELETE o
