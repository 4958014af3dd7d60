// Some relationships of an ontology.
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = $ontology AND r.relation_id > ''
RETURN r.relation_id AS relation_id, r.statement AS statement, r.quote AS quote, r.text_hash AS text_hash
LIMIT $limit
