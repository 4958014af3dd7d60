// What was judged for a question of an ontology, and all its questions.
CREATE INDEX judgement_by_question IF NOT EXISTS FOR (j:Judgement) ON (j.ontology, j.question_id)
