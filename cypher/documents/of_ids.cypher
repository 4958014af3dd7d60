// Some documents, in the order of their ids as they are given.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata
