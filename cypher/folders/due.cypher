// Folders whose time has come and that are not being scanned.
MATCH (f:Folder)
WHERE f.removing IS NULL AND f.due_at <= datetime.realtime()
  AND NOT EXISTS { MATCH (j:Job {job_id: f.job_id}) WHERE j.state IN ['queued', 'running'] }
RETURN f.folder_id AS folder_id, f.ontology AS ontology
ORDER BY f.due_at
