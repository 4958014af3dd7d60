// A community is one node of its generation.
CREATE CONSTRAINT community_id IF NOT EXISTS FOR (c:Community) REQUIRE (c.generation, c.community_id) IS UNIQUE
