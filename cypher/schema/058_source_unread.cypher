// What may not have been read for concepts is found by this, however much there is that was.
CREATE INDEX source_unread IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unread, s.document_id, s.paragraph)
