// Sources of documents from one paragraph to before another, in reading order, each with its vector where it is embedded
// as it shall be.
UNWIND $document_ids AS id
MATCH (s:Source)
USING INDEX SEEK s:Source(document_id, paragraph)
WHERE s.document_id = id AND s.paragraph >= $first AND s.paragraph < $until
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.full_text AS full_text, s.start AS start, s.end AS end, s.block_kinds AS block_kinds,
       s.block_starts AS block_starts, s.page AS page, s.last_page AS last_page, s.ocr_confidence AS ocr_confidence,
       s.word_boxes AS word_boxes, s[$mark_property] = $mark AS embedded,
       CASE WHEN s[$mark_property] = $mark THEN s[$property] END AS vector,
       s.extracted_with AS extracted_with, s.not_extracted_because AS refused, s.unverified_quotes AS unverified,
       CASE WHEN s:Image THEN s {.storage_key, .thumbnail_key, .content_type, .width, .height, .bytes, .perceptual_hash}
       END AS image
ORDER BY s.document_id, s.paragraph
