// name: count
// Count the judgements of an ontology, for one question or all.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= $from AND j.question_id <= $to
RETURN count(*) AS judgements

// name: delete
// Delete the judgements of a question, for one source or all.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id = $question_id
  AND ($source_id IS NULL OR j.source_id = $source_id)
DELETE j
RETURN count(*) AS judgements

// name: of_sources
// Return the judgements of sources for a question.
UNWIND $rows AS row
MATCH (j:Judgement {judgement_id: row.judgement_id})
RETURN row.source_id AS source_id, j.relevance AS relevance

// name: page
// Return judgements of an ontology by question, most relevant first, for one question or all. The source is included
// if it still exists: a changed text is another source.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= $from AND j.question_id <= $to
WITH j ORDER BY j.question_id, j.relevance DESC, j.judgement_id SKIP $offset LIMIT $limit
OPTIONAL MATCH (s:Source {source_id: j.source_id})
RETURN j {.judgement_id, .ontology, .question, .document_id, .document, .relevance, .judged_by, .judged_at} AS judgement,
       CASE WHEN s IS NOT NULL THEN s {.source_id, .ontology, .document, .document_id, .paragraph, .heading, .start, .end,
         .page, .last_page, .ocr_confidence, .full_text, ocr: s.ocr_confidence IS NOT NULL,
         kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END,
         image: CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes} END} END AS source
ORDER BY j.question_id, judgement.relevance DESC, judgement.judgement_id

// name: write
// Write the judgement of a source, and replace an earlier one. The source is locked, because the deletion of its
// ontology deletes its judgements.
MATCH (s:Source {source_id: $source_id})
WHERE s.ontology = $ontology
SET s.held_at = datetime.realtime()
MERGE (j:Judgement {judgement_id: $judgement_id})
SET j.ontology = s.ontology, j.question_id = $question_id, j.question = $question, j.source_id = s.source_id,
    j.document_id = s.document_id, j.document = s.document, j.relevance = $relevance, j.judged_by = $by,
    j.judged_at = datetime.realtime()
RETURN j {.judgement_id, .ontology, .question, .document_id, .document, .relevance, .judged_by, .judged_at} AS judgement
