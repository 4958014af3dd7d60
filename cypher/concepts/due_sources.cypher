// The next sources of an ontology, in reading order, that no extractor of this mark has read. Ordered by the keys of
// the index, and filtered after it: otherwise the planner reads and sorts all that are left, for every batch.
MATCH (s:Source)
USING INDEX s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after_document AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE (s.document_id > $after_document OR s.paragraph > $after_paragraph)
  AND (s.extracted_with IS NULL OR s.extracted_with <> $mark)
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash
LIMIT $limit
