// A blob is what its bytes say.
CREATE CONSTRAINT blob_key IF NOT EXISTS FOR (b:Blob) REQUIRE b.key IS UNIQUE
