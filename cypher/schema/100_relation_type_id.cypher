// A type of relationships is there once in an ontology.
CREATE CONSTRAINT relation_type_id IF NOT EXISTS FOR (t:RelationType) REQUIRE t.type_id IS UNIQUE
