// Neighbours: the same document, a range of paragraphs.
CREATE INDEX source_by_place IF NOT EXISTS FOR (s:Source) ON (s.document_id, s.paragraph)
