// Those of some documents of which a text waits for approval.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
RETURN w.document_id AS document_id
