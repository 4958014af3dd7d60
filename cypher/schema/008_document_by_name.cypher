// Documents are listed by ontology and name.
CREATE INDEX document_by_name IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.document)
