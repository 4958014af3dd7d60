// One registration of a folder in an ontology: the id is made of both.
CREATE CONSTRAINT folder_id IF NOT EXISTS FOR (f:Folder) REQUIRE f.folder_id IS UNIQUE
