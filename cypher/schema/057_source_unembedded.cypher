// What may lack its vector is found by this, however much there is that does not.
CREATE INDEX source_unembedded IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.unembedded, s.document_id, s.paragraph)
