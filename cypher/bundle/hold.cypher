// Holds documents that are there, in the order of their ids, and gives what each was made of.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.content_hash AS content_hash
