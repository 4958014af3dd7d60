// name: before
// Return the stored documents of given names. Missing ones have nulls.
UNWIND $document_ids AS id
OPTIONAL MATCH (d:Document {document_id: id})
RETURN id AS document_id, d.content_hash AS content_hash, d.sources AS sources, d.uri AS uri

// name: count
// Count pending documents by ontology, in some or all ontologies.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
RETURN w.awaits AS ontology, count(w) AS waiting
ORDER BY ontology

// name: following
// Return the next pending documents by name.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document > $after
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document
LIMIT $limit

// name: forget_files
// Delete the recorded file states of pending documents, so that the next scan reads the files again.
MATCH (w:WaitingDocument)
WHERE w.document_id IN $document_ids AND w.file_stamp IS NOT NULL
SET w.file_stamp = null, w.file_hash = null

// name: identify
// Return the first pending document with one of these names or ids.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
  AND (w.document IN $names OR w.document_id IN $names OR w.awaits + '/' + w.document IN $names)
RETURN w.awaits AS ontology, w.document AS document
ORDER BY ontology, document
LIMIT 1

// name: missing
// Count the files of new pending documents that are neither held nor used by the earlier pending version. Files
// without a hold may be deleted, or created but not written yet. The first write locks the blob against deletion.
UNWIND $rows AS row
OPTIONAL MATCH (b:Blob {key: row.key})
SET b.touched_at = datetime.realtime()
WITH row, b
WHERE b IS NULL OR NOT (
  EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(b) }
  OR EXISTS { MATCH (w:WaitingDocument {document_id: row.document_id}) WHERE row.key IN w.blobs }
)
RETURN count(*) AS missing

// name: named
// Return pending documents by name.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document IN $documents
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document

// name: page
// Return a page of pending documents by ontology and name.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
WITH w ORDER BY w.awaits, w.document SKIP $offset LIMIT $limit
RETURN w.document_id AS document_id, w.awaits AS ontology, w.document AS document, w.title AS title,
       w.format AS format, w.characters AS characters, w.sources AS sources, w.given_at AS given_at,
       w.beginning AS beginning, EXISTS { (:Document {document_id: w.document_id}) } AS replaces
ORDER BY ontology, document

// name: put
// Store pending documents, each in place of an earlier pending or rejected version, whose edits stay.
UNWIND $rows AS row
MERGE (w:WaitingDocument {document_id: row.document_id})
WITH row, w, w.changes AS changes
SET w = row, w.given_at = datetime.realtime(), w.changes = changes

// name: reject
// Delete rejected documents. A rejected file of a synced folder is recorded, because the next scan would submit it
// again.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document >= '' AND ($documents IS NULL OR w.document IN $documents)
WITH w ORDER BY w.document_id LIMIT $limit
WITH w, w.document AS document, w.folder_id IS NOT NULL AS followed
SET w.awaits = null, w.given = null, w.beginning = null, w.blobs = null
FOREACH (each IN CASE WHEN followed THEN [] ELSE [w] END | DETACH DELETE each)
RETURN document

// name: remove_of_ontology
// Delete a batch of an ontology's pending and rejected documents, and count the pending ones.
MATCH (w:WaitingDocument)
WHERE w.ontology = $ontology
WITH w LIMIT $limit
WITH w, w.awaits IS NOT NULL AS pending
DETACH DELETE w
RETURN count(*) AS removed, count(CASE WHEN pending THEN 1 END) AS pending

// name: set_changes
// Record the edits of a renamed document for a new document that waits.
MATCH (w:WaitingDocument {document_id: $document_id})
WHERE NOT EXISTS { (:Document {document_id: w.document_id}) }
SET w.changes = $changes

// name: take_back
// Delete pending documents whose stored version was submitted again.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
DETACH DELETE w
