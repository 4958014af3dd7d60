// A name means one concept of its ontology; the id is a hash of both.
CREATE CONSTRAINT concept_name_id IF NOT EXISTS FOR (n:ConceptName) REQUIRE n.name_id IS UNIQUE
