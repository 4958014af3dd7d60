// What of a folder waits or was rejected.
CREATE INDEX waiting_by_folder IF NOT EXISTS FOR (w:WaitingDocument) ON (w.folder_id, w.document_id)
