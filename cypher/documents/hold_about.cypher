// Holds a document, so that whoever changes it comes before or after, and gives what is said of it.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
WITH d
OPTIONAL MATCH (o:Ontology {name: d.ontology})
RETURN d.ontology AS ontology, o.language AS language, d.document AS document, d.title AS title, d.uri AS uri, d.metadata AS metadata,
       d.changes AS changes
