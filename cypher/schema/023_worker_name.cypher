// A worker's name is its id.
CREATE CONSTRAINT worker_name IF NOT EXISTS FOR (w:Worker) REQUIRE w.name IS UNIQUE
