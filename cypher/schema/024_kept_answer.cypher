// Of requests with one key, however many come at once, one is carried out.
CREATE CONSTRAINT kept_answer_key IF NOT EXISTS FOR (a:KeptAnswer) REQUIRE a.key IS UNIQUE
