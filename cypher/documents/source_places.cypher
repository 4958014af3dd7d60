// Where the sources of documents are now, and what they say to the letter.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0
RETURN s.document_id AS document_id, s.source_id AS source_id, s.paragraph AS paragraph, s.start AS start,
       s.end AS end, s.heading AS heading, s.full_text AS full_text, s.block_kinds AS block_kinds,
       s.block_starts AS block_starts, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence AS ocr_confidence, s.word_boxes AS word_boxes
ORDER BY source_id
