// What is known of documents besides their sources. New ones come into their ontology here, behind all else, for that
// locks it: MERGE does before it writes, where CREATE takes the locks of a dense node in any order, and two writers of
// one ontology then stop each other. The ontology is made again should it have been deleted, empty, after `lock`. Held, it
// tells the language in which its sources are to be indexed. A write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = $space
SET o.held_at = datetime.realtime()
WITH o
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties, d.updated_at = datetime.realtime()
MERGE (d)-[:IN_ONTOLOGY]->(o)
RETURN DISTINCT o.language AS language
