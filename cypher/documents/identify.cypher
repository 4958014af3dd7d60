// Those documents of some ids that are there.
MATCH (d:Document)
WHERE d.document_id IN $document_ids AND d.ontology IS NOT NULL
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document
ORDER BY ontology, document
