// name: before
// What is stored under some names; of those that are not there all is null.
UNWIND $document_ids AS id
OPTIONAL MATCH (d:Document {document_id: id})
RETURN id AS document_id, d.content_hash AS content_hash, d.sources AS sources, d.uri AS uri

// name: count
// How many documents of each ontology wait, or of some.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
RETURN w.awaits AS ontology, count(w) AS waiting
ORDER BY ontology

// name: following
// The next ones that wait, in the order of their names, as they were given.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document > $after
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document
LIMIT $limit

// name: forget_files
// What the files of documents that wait look like is remembered no more: a scan of their folder reads them again.
MATCH (w:WaitingDocument)
WHERE w.document_id IN $document_ids AND w.file_stamp IS NOT NULL
SET w.file_stamp = null, w.file_hash = null

// name: missing
// Files of documents that are to wait which are not kept until then: neither held nor those of what waits already. Files
// that are not held any more may have gone, and others may have been made, which nobody has written yet. The property is
// written first: it locks the blob against whoever collects it.
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
// Those of some names that wait, as they were given.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document IN $documents
RETURN w.document AS document, w.version AS version, w.given AS given
ORDER BY document

// name: page
// One page of what waits, by ontology and name.
MATCH (w:WaitingDocument)
WHERE w.awaits >= '' AND w.document >= '' AND ($ontologies IS NULL OR w.awaits IN $ontologies)
WITH w ORDER BY w.awaits, w.document SKIP $offset LIMIT $limit
RETURN w.document_id AS document_id, w.awaits AS ontology, w.document AS document, w.title AS title,
       w.format AS format, w.characters AS characters, w.sources AS sources, w.given_at AS given_at,
       w.beginning AS beginning, EXISTS { (:Document {document_id: w.document_id}) } AS replaces
ORDER BY ontology, document

// name: put
// Documents wait for approval; each takes the place of what waited or was rejected under its name.
UNWIND $rows AS row
MERGE (w:WaitingDocument {document_id: row.document_id})
SET w = row, w.given_at = datetime.realtime()

// name: reject
// What is rejected goes; of a file that is followed it is remembered, or the next scan would bring it again.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document >= '' AND ($documents IS NULL OR w.document IN $documents)
WITH w ORDER BY w.document_id LIMIT $limit
WITH w, w.document AS document, w.folder_id IS NOT NULL AS followed
SET w.awaits = null, w.given = null, w.beginning = null, w.blobs = null
FOREACH (each IN CASE WHEN followed THEN [] ELSE [w] END | DETACH DELETE each)
RETURN document

// name: remove_of_ontology
// What waits for an ontology, or was rejected, goes with it: the next portion.
MATCH (w:WaitingDocument)
WHERE w.ontology = $ontology
WITH w LIMIT $limit
DETACH DELETE w
RETURN count(*) AS removed

// name: take_back
// Documents that came again as they are stored: what waited under their names is not wanted any more.
UNWIND $document_ids AS id
MATCH (w:WaitingDocument {document_id: id})
DETACH DELETE w
