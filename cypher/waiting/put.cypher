// Documents wait for approval; each takes the place of what waited or was rejected under its name.
UNWIND $rows AS row
MERGE (w:WaitingDocument {document_id: row.document_id})
SET w = row, w.given_at = datetime.realtime()
