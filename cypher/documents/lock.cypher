// Makes the document and its ontology if need be and holds the document until the end of the transaction, so
// that two writers of one document take turns. A new ontology uses the space that is for new ones.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(e.slug) AS space
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = space
MERGE (d:Document {document_id: $document_id})
ON CREATE SET d.ontology = $ontology, d.document = $document, d.created_at = datetime.realtime()
MERGE (d)-[:IN_ONTOLOGY]->(o)
SET d.touched_at = datetime.realtime()
RETURN d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources, d.written_by AS written_by,
       d.title AS title, d.metadata AS metadata
