// MERGE without this constraint made 84 nodes of 60 ids under load.
CREATE CONSTRAINT document_id IF NOT EXISTS FOR (d:Document) REQUIRE d.document_id IS UNIQUE
