// Documents whose id begins so; more than one is no answer.
MATCH (d:Document)
WHERE d.document_id STARTS WITH $prefix AND ($ontologies IS NULL OR d.ontology IN $ontologies)
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document
ORDER BY document_id
LIMIT $limit
