// One unfinished job a key; finished jobs have none.
CREATE CONSTRAINT job_unique_key IF NOT EXISTS FOR (j:Job) REQUIRE j.unique_key IS UNIQUE
