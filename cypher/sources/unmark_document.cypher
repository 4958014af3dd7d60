// The sources of a document whose chunks are to be planned anew; until then they are found as they are.
MATCH (s:Source {document_id: $document_id})
WHERE s[$mark_property] IS NOT NULL
SET s[$mark_property] = 'stale'
RETURN count(s) AS unmarked
