// Documents that were made to be held and are not stored after all.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
WHERE d.content_hash IS NULL
DETACH DELETE d
