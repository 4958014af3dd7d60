// What was judged in an ontology, for one question or for all, question by question and the best first; with the source
// where it is there still: one whose text has changed is another.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= $from AND j.question_id <= $to
WITH j ORDER BY j.question_id, j.relevance DESC, j.judgement_id SKIP $offset LIMIT $limit
OPTIONAL MATCH (s:Source {source_id: j.source_id})
RETURN j {.judgement_id, .ontology, .question, .document_id, .document, .relevance, .judged_by, .judged_at} AS judgement,
       CASE WHEN s IS NOT NULL THEN s {.source_id, .ontology, .document, .document_id, .paragraph, .heading, .start, .end,
         .page, .last_page, .ocr_confidence, .full_text, ocr: s.ocr_confidence IS NOT NULL,
         kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END,
         image: CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes, .perceptual_hash} END} END AS source
ORDER BY j.question_id, judgement.relevance DESC, judgement.judgement_id
