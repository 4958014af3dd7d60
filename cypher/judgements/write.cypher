// What somebody thinks of a source as an answer; what was thought before is replaced. The source is locked: with its
// ontology goes what was judged in it, before or after.
MATCH (s:Source {source_id: $source_id})
WHERE s.ontology = $ontology
SET s.held_at = datetime.realtime()
MERGE (j:Judgement {judgement_id: $judgement_id})
SET j.ontology = s.ontology, j.question_id = $question_id, j.question = $question, j.source_id = s.source_id,
    j.document_id = s.document_id, j.document = s.document, j.relevance = $relevance, j.judged_by = $by,
    j.judged_at = datetime.realtime()
RETURN j {.judgement_id, .ontology, .question, .document_id, .document, .relevance, .judged_by, .judged_at} AS judgement
