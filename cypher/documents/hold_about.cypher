// Holds a document, so that whoever changes it comes before or after, and gives what is said of it.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
RETURN d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri, d.metadata AS metadata,
       d.changes AS changes
