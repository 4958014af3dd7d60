// How much was judged in an ontology, for one question or for all.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= $from AND j.question_id <= $to
RETURN count(*) AS judgements
