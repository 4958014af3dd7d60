// Sources by their ids, with what is told of their documents.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
OPTIONAL MATCH (s)-[:PART_OF]->(d:Document)
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes, .perceptual_hash} END AS image,
       s.title AS title, d.uri AS uri, d.format AS format, d.metadata AS metadata
ORDER BY ontology, document, document_id, paragraph
