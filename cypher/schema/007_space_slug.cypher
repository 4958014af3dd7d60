// A space's slug is its id.
CREATE CONSTRAINT embedding_space_slug IF NOT EXISTS FOR (e:EmbeddingSpace) REQUIRE e.slug IS UNIQUE
