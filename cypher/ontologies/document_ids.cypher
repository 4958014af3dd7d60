// One portion of an ontology's documents.
MATCH (d:Document {ontology: $name})
WHERE d.document >= ''
RETURN d.document_id AS document_id
ORDER BY document_id
LIMIT $limit
