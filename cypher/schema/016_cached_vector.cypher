// Vectors that were made before, by what was embedded in which space.
CREATE CONSTRAINT cached_vector_key IF NOT EXISTS FOR (v:CachedVector) REQUIRE v.key IS UNIQUE
