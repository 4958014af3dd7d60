// Names of documents to suggest one from, a bounded number of them.
MATCH (d:Document)
WHERE d.ontology >= '' AND d.document >= '' AND ($ontology IS NULL OR d.ontology = $ontology)
RETURN d.ontology AS ontology, d.document AS document
LIMIT $limit
