// What waits is listed and counted by ontology and name; what was rejected has no such entry.
CREATE INDEX waiting_by_name IF NOT EXISTS FOR (w:WaitingDocument) ON (w.awaits, w.document)
