// All sources of a document in reading order, for planning chunks that cover several, and for extraction.
MATCH (s:Source)
USING INDEX s:Source(document_id, paragraph)
WHERE s.document_id = $document_id AND s.paragraph >= 0
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash,
       s.block_kinds AS block_kinds, s.block_starts AS block_starts
ORDER BY paragraph
