// name: approved_files
// Return the file hashes of stored documents that were not changed otherwise.
MATCH (d:Document)
WHERE d.folder_id = $folder_id AND d.document_id IN $document_ids AND d.content_hash = d.file_content
RETURN d.document AS document, d.file_hash AS file_hash

// name: begin_removal
// Stop all scans of the folder from writing.
MATCH (f:Folder {folder_id: $folder_id})
SET f.removing = datetime.realtime()

// name: conclude
// Record the end of a scan and the time of the next one.
MATCH (f:Folder {folder_id: $folder_id})
SET f.last_scan = $tally, f.scanned_at = datetime.realtime(), f.progress = null, f.error = null,
    f.due_at = datetime.realtime() + duration({seconds: f.every_seconds})

// name: documents
// Return a batch of the documents of a folder.
MATCH (d:Document)
WHERE d.folder_id = $folder_id AND d.document_id > $after
RETURN d.document_id AS document_id, d.document AS document
ORDER BY d.document_id
LIMIT $limit

// name: due
// Return folders whose scan time has passed and that have no unfinished scan.
MATCH (f:Folder)
WHERE f.removing IS NULL AND f.due_at <= datetime.realtime()
  AND NOT EXISTS { MATCH (j:Job {job_id: f.job_id}) WHERE j.state IN ['queued', 'running'] }
RETURN f.folder_id AS folder_id, f.ontology AS ontology
ORDER BY f.due_at

// name: forget_job
// Delete the job of the last scan before the next one, so that jobs do not accumulate. The error of a failed job is
// kept.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: f.job_id})
SET j.locked_by = 'the next scan'
WITH f, j
WHERE NOT j.state IN ['queued', 'running']
SET f.error = CASE WHEN j.state = 'failed' THEN j.error ELSE f.error END
DETACH DELETE j

// name: forget_waiting
// Delete pending or rejected documents whose files no longer exist.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
WHERE w.folder_id = $folder_id
DETACH DELETE w

// name: hold
// Lock a folder before any write for it. No row means that the folder is not registered.
MATCH (f:Folder {folder_id: $folder_id})
SET f.touched_at = datetime.realtime()
WITH f
WHERE f.removing IS NULL
RETURN f.due_at <= datetime.realtime() AS due, f.job_id AS job_id

// name: hold_document
// Lock a document before its deletion for a folder. No row means that the document has another origin.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
WITH d
WHERE d.folder_id = $folder_id
RETURN d.document_id AS document_id

// name: hold_ontology
// Create and lock the ontology, so that the later of two concurrent registrations sees the other one.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(CASE WHEN coalesce(e.modality, 'text') = 'text' THEN e.slug END) AS space,
     min(CASE WHEN e.modality = 'image' THEN e.slug END) AS image_space
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = space, o.image_space = image_space
SET o.changed_at = datetime.realtime()

// name: known
// Return the recorded file states of stored or pending documents, and the path of another folder that owns them.
UNWIND $document_ids AS id
OPTIONAL MATCH (d:Document {document_id: id})
OPTIONAL MATCH (w:WaitingDocument {document_id: id})
WITH id, d, w, coalesce(w.folder_id = $folder_id, false) AS waits
WHERE d IS NOT NULL OR w IS NOT NULL
OPTIONAL MATCH (other:Folder)
WHERE other.folder_id = coalesce(d.folder_id, w.folder_id) AND other.folder_id <> $folder_id
RETURN id AS document_id,
       coalesce(waits OR (d.folder_id = $folder_id AND d.content_hash = d.file_content), false) AS as_filed,
       CASE WHEN waits THEN w.file_stamp ELSE d.file_stamp END AS stamp,
       CASE WHEN waits THEN w.file_hash ELSE d.file_hash END AS file_hash, other.path AS taken_by

// name: leave_waiting
// End the synchronisation of a folder: pending documents stay or are deleted, and rejected ones are forgotten.
MATCH (w:WaitingDocument)
WHERE w.folder_id = $folder_id AND w.document_id >= ''
SET w.folder_id = null, w.file_stamp = null, w.file_hash = null
WITH w WHERE w.awaits IS NULL OR $delete_pending
DETACH DELETE w

// name: list
// Return folders with the job of their current or last scan. All keys of the document index are named, because Neo4j
// does not use it otherwise.
MATCH (f:Folder)
WHERE $folder_id IS NULL OR f.folder_id = $folder_id
OPTIONAL MATCH (j:Job {job_id: f.job_id})
RETURN f.folder_id AS folder_id, f.path AS path, f.ontology AS ontology, f.prefix AS prefix,
       f.every_seconds AS every_seconds, coalesce(f.review, false) AS review, CASE WHEN f.grant IS NULL THEN 'roots' ELSE 'owner' END AS right,
       f.created_at AS created_at, f.due_at AS next_scan_at,
       f.removing IS NOT NULL AS removing, f.last_scan AS last_scan, f.scanned_at AS scanned_at, j.job_id AS job_id, j.state AS state,
       coalesce(j.done, 0) AS done, coalesce(j.total, 0) AS total,
       CASE WHEN j.state = 'failed' THEN j.error ELSE f.error END AS error,
       COUNT { MATCH (d:Document) WHERE d.folder_id = f.folder_id AND d.document_id >= '' } AS documents
ORDER BY ontology, path

// name: of_job
// Return the folder that a job scans. No row means that the folder is not registered.
MATCH (j:Job {job_id: $job_id})
MATCH (f:Folder) WHERE f.job_id = j.job_id AND f.removing IS NULL
RETURN f.folder_id AS folder_id, f.path AS path, f.ontology AS ontology, f.prefix AS prefix, f.grant AS grant,
       coalesce(f.review, false) AS review,
       f.progress AS progress, f.last_scan AS last_scan, coalesce(j.allow_empty, false) AS allow_empty

// name: register
CREATE (f:Folder {folder_id: $folder_id})
SET f += $properties, f.created_at = datetime.realtime(), f.due_at = datetime.realtime()

// name: registered
// Return the folders of an ontology and the calls that registered them.
MATCH (f:Folder {ontology: $ontology})
RETURN f.path AS path, f.registered_by AS registered_by
ORDER BY path

// name: remove
// Delete the registration of a folder, without its documents.
MATCH (f:Folder {folder_id: $folder_id})
DETACH DELETE f

// name: remove_of_ontology
// Delete the registrations of folders in an ontology before its deletion, and count them.
MATCH (f:Folder {ontology: $ontology})
DETACH DELETE f
RETURN count(*) AS folders

// name: take_documents
// Assign documents to a folder with the states of their files. Documents of other folders are returned instead.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
OPTIONAL MATCH (other:Folder {folder_id: d.folder_id}) WHERE other.folder_id <> $folder_id
FOREACH (_ IN CASE WHEN other IS NULL THEN [1] ELSE [] END |
  SET d.folder_id = $folder_id, d.file_stamp = row.stamp, d.file_hash = row.file_hash,
      d.file_content = d.content_hash)
WITH other
WHERE other IS NOT NULL
RETURN other.path AS taken_by

// name: take_waiting
// Assign pending documents to a folder with the states of their files.
UNWIND $rows AS row
MATCH (w:WaitingDocument {document_id: row.document_id})
SET w.folder_id = $folder_id, w.file_stamp = row.stamp, w.file_hash = row.file_hash

// name: tell_progress
// Record the progress of a scan and the number of its files.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: $job_id})
SET f.progress = $tally, j.total = $total

// name: touch_documents
// Record the new state of files with unchanged content.
UNWIND $rows AS row
OPTIONAL MATCH (d:Document {document_id: row.document_id})
WHERE d.folder_id = $folder_id AND d.file_hash = row.file_hash
OPTIONAL MATCH (w:WaitingDocument {document_id: row.document_id})
WHERE w.folder_id = $folder_id AND w.file_hash = row.file_hash
SET d.file_stamp = row.stamp, w.file_stamp = row.stamp

// name: use_job
// Record the job of the current scan, and the time of the next scan if this one dies.
MATCH (f:Folder {folder_id: $folder_id})
MATCH (j:Job {job_id: $job_id})
SET f.job_id = $job_id, f.due_at = datetime.realtime() + duration({seconds: f.every_seconds}),
    j.allow_empty = coalesce(j.allow_empty, false) OR $allow_empty

// name: waiting
// Return the pending and rejected documents of a folder, with the edits that users made to the stored documents.
MATCH (w:WaitingDocument)
WHERE w.folder_id = $folder_id AND w.document_id >= ''
OPTIONAL MATCH (d:Document {document_id: w.document_id})
RETURN w.document AS document, w.text_hash AS text_hash, coalesce(d.changes, w.changes) AS changes
