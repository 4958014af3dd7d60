// What keeps blobs for a while.
CREATE CONSTRAINT blob_hold_id IF NOT EXISTS FOR (h:BlobHold) REQUIRE h.hold_id IS UNIQUE
