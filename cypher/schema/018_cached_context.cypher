// Contexts that a language model wrote before, by what it was asked.
CREATE CONSTRAINT cached_context_key IF NOT EXISTS FOR (x:CachedContext) REQUIRE x.key IS UNIQUE
