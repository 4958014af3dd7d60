// Makes documents and their ontology if need be and holds each document until the end of the transaction, so that
// two writers of one document take turns; in the order of their ids, so that writers of several do too. A new
// ontology uses the space that is for new ones. Nothing here locks an ontology that is there: `describe` does.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(e.slug) AS space
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = space
WITH o.space AS space
UNWIND $documents AS row
MERGE (d:Document {document_id: row.document_id})
ON CREATE SET d.ontology = $ontology, d.document = row.document, d.created_at = datetime.realtime()
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources,
       d.written_by AS written_by, d.title AS title, d.metadata AS metadata, d.changes AS changes,
       space
