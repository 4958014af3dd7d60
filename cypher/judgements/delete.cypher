// What was judged for a question, of one source or of all.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id = $question_id
  AND ($source_id IS NULL OR j.source_id = $source_id)
DELETE j
RETURN count(*) AS judgements
