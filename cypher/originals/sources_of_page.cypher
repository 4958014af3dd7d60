// The passages of a document that stand on a page of it, or a part of them.
MATCH (s:Source)
WHERE s.document_id = $document_id AND s.paragraph >= 0 AND s.page <= $page AND s.last_page >= $page
RETURN s.source_id AS source_id, s.full_text AS full_text, s.start AS start, s.word_boxes AS word_boxes
ORDER BY s.paragraph
