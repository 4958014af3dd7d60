// Whether sources of some ontologies state any relationship.
UNWIND $ontologies AS name
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = name AND r.relation_id > ''
RETURN r.relation_id AS relation_id
LIMIT 1
