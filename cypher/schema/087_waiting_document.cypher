// A document that waits for approval has the id that it will have.
CREATE CONSTRAINT waiting_document IF NOT EXISTS FOR (w:WaitingDocument) REQUIRE w.document_id IS UNIQUE
