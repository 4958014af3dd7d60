// Sources of some ontologies, or of some documents only, as a reader would come to them.
MATCH (s:Source)
WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0
  AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
WITH s ORDER BY s.ontology, s.document, s.document_id, s.paragraph LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text
