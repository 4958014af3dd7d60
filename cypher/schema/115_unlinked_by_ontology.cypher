// What is to be looked at for links, by its ontology: elsewhere very many may wait, or for ever.
CREATE INDEX unlinked_by_ontology IF NOT EXISTS FOR (n:Unlinked) ON (n.ontology)
