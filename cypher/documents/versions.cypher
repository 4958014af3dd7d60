// Which write made some documents what they are.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.written_by AS version
