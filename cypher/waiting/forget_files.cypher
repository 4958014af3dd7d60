// What the files of documents that wait look like is remembered no more: a scan of their folder reads them again.
MATCH (w:WaitingDocument)
WHERE w.document_id IN $document_ids AND w.file_stamp IS NOT NULL
SET w.file_stamp = null, w.file_hash = null
