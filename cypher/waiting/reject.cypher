// What is rejected goes; of a file that is followed it is remembered, or the next scan would bring it again.
MATCH (w:WaitingDocument)
WHERE w.awaits = $ontology AND w.document >= '' AND ($documents IS NULL OR w.document IN $documents)
WITH w ORDER BY w.document_id LIMIT $limit
WITH w, w.document AS document, w.folder_id IS NOT NULL AS followed
SET w.awaits = null, w.given = null, w.beginning = null, w.blobs = null
FOREACH (each IN CASE WHEN followed THEN [] ELSE [w] END | DETACH DELETE each)
RETURN document
