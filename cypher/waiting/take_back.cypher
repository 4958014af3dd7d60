// Documents that came again as they are stored: what waited under their names is not wanted any more.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
DETACH DELETE w
