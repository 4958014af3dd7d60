// The sources of documents whose chunks are to be planned anew, in whatever space; until then they are found as
// they are. Counts those of the space in use, by document.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0
WITH s, s[$mark_property] IS NOT NULL AS counts
SET s.unembedded = true
WITH s, counts
FOREACH (name IN [key IN keys(s) WHERE key STARTS WITH 'embedded_with'] | SET s[name] = 'stale')
RETURN s.document_id AS document_id, sum(CASE WHEN counts THEN 1 ELSE 0 END) AS unmarked
