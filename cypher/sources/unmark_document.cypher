// The sources of a document whose chunks are to be planned anew, in whatever space; until then they are found as
// they are. Counts those of the space in use.
MATCH (s:Source {document_id: $document_id})
WITH s, s[$mark_property] IS NOT NULL AS counts
SET s.unembedded = true
WITH s, counts
FOREACH (name IN [key IN keys(s) WHERE key STARTS WITH 'embedded_with'] | SET s[name] = 'stale')
RETURN sum(CASE WHEN counts THEN 1 ELSE 0 END) AS unmarked
