// Holds documents, so that whoever changes one comes before or after, and gives which write made each what it is.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.written_by AS version
