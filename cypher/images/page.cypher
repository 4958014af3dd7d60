// Pictures in the order of their documents, with the words that stand for them.
MATCH (s:Image)
WHERE $ontologies IS NULL OR s.ontology IN $ontologies
WITH s ORDER BY s.ontology, s.document, s.document_id, s.paragraph SKIP $offset LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes, .perceptual_hash} END AS image
