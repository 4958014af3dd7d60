// What a source states of two concepts is one relationship, however often it is extracted.
CREATE CONSTRAINT relation_id IF NOT EXISTS FOR ()-[r:RELATED_TO]-() REQUIRE r.relation_id IS UNIQUE
