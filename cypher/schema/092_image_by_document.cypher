// The pictures of a document.
CREATE INDEX image_by_document IF NOT EXISTS FOR (s:Image) ON (s.document_id)
