// What is known of documents besides their sources. New ones come into their ontology here, behind all else: that
// may lock it. It is made again should it have been deleted, empty, after `lock`.
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = $space
WITH o
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties, d.updated_at = datetime.realtime()
WITH o, d
WHERE NOT EXISTS { (d)-[:IN_ONTOLOGY]->(:Ontology) }
CREATE (d)-[:IN_ONTOLOGY]->(o)
