// One portion of nodes, in the order of their ids, loses some properties: vectors and marks of a space.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) WHERE n.source_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.source_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) WHERE n.concept_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.concept_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'RELATED_TO' THEN {
    MATCH ()-[n:RELATED_TO]->() WHERE n.relation_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.relation_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'RelationType' THEN {
    MATCH (n:RelationType) WHERE n.type_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.type_id AS id ORDER BY id LIMIT $limit
  }
}
FOREACH (name IN $properties | SET n[name] = null)
RETURN max(id) AS last
