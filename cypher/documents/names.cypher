// Names of documents to suggest one from, a bounded number of them.
MATCH (d:Document)
WHERE d.ontology >= '' AND d.document >= '' AND ($ontologies IS NULL OR d.ontology IN $ontologies)
RETURN d.ontology AS ontology, d.document AS document
LIMIT $limit
