// What stands in front of a chunk when it is embedded with its context, and how the document is read.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.title AS title, d.metadata AS metadata,
       d.document AS document, d.format AS format
