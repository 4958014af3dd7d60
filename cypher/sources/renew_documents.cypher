// The sources of some documents are embedded anew, and not from the cache; until then they are found as they are. What the
// model refused is tried again. Counts them by ontology, in the order in which all lock them.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0 AND s.ontology = $ontology
WITH s ORDER BY s.source_id
SET s[$mark_property] = CASE WHEN s[$mark_property] STARTS WITH $refused OR s[$mark_property] IS NULL THEN null ELSE $renewed END,
    s.unembedded = true
RETURN count(s) AS renewed
