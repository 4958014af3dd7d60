// A merge of concepts is recorded once.
CREATE CONSTRAINT concept_merge_id IF NOT EXISTS FOR (m:ConceptMerge) REQUIRE m.merge_id IS UNIQUE
