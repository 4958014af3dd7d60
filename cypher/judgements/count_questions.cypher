// How many questions of an ontology something was judged for.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= ''
RETURN count(DISTINCT j.question_id) AS questions
