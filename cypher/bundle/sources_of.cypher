// The sources of documents from one paragraph to before another, in reading order, and whether each is embedded as it
// shall be, and read for concepts.
UNWIND $document_ids AS id
MATCH (s:Source)
USING INDEX SEEK s:Source(document_id, paragraph)
WHERE s.document_id = id AND s.paragraph >= $first AND s.paragraph < $until
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash,
       coalesce(s[$mark_property] = $mark, false) AS embedded, s.extracted_with AS extracted_with,
       EXISTS { (s)<-[a:APPEARS_IN]-(:Concept) WHERE a.extracted_with STARTS WITH $imported } AS brought
ORDER BY s.document_id, s.paragraph
