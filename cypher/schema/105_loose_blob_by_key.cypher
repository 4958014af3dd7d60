// Blobs that may be unused, in the order in which they are looked at.
CREATE INDEX loose_blob_by_key IF NOT EXISTS FOR (b:LooseBlob) ON (b.key)
