// Folders with the job of their present or last scan. All keys of the index of documents are named, or it is not used.
MATCH (f:Folder)
WHERE $folder_id IS NULL OR f.folder_id = $folder_id
OPTIONAL MATCH (j:Job {job_id: f.job_id})
RETURN f.folder_id AS folder_id, f.path AS path, f.ontology AS ontology, f.prefix AS prefix,
       f.every_seconds AS every_seconds, coalesce(f.review, false) AS review, CASE WHEN f.grant IS NULL THEN 'roots' ELSE 'owner' END AS right,
       f.created_at AS created_at, f.due_at AS next_scan_at,
       f.removing IS NOT NULL AS removing, f.last_scan AS last_scan, f.scanned_at AS scanned_at, j.job_id AS job_id, j.state AS state,
       coalesce(j.done, 0) AS done, coalesce(j.total, 0) AS total,
       CASE WHEN j.state = 'dead' THEN j.error ELSE f.error END AS error,
       COUNT { MATCH (d:Document) WHERE d.folder_id = f.folder_id AND d.document_id >= '' } AS documents
ORDER BY ontology, path
