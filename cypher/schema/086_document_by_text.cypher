// Documents of an ontology that say the same are found by this, in the order of their names.
CREATE INDEX document_by_text IF NOT EXISTS FOR (d:Document) ON (d.ontology, d.text_hash, d.document)
