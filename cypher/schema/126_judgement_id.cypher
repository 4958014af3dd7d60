// A passage is judged once for a question.
CREATE CONSTRAINT judgement_id IF NOT EXISTS FOR (j:Judgement) REQUIRE j.judgement_id IS UNIQUE
