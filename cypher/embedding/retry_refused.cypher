// Nodes that were set aside are tried again.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= '' AND n.paragraph >= 0 RETURN n
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id > '' RETURN n
  }
  WHEN $label = 'Image' THEN {
    MATCH (n:Image) USING INDEX SEEK n:Image(ontology, source_id)
    WHERE n.ontology = $ontology AND n.source_id > '' RETURN n
  }
  WHEN $label = 'RELATED_TO' THEN {
    MATCH ()-[n:RELATED_TO]->() USING INDEX SEEK n:RELATED_TO(ontology, relation_id)
    WHERE n.ontology = $ontology AND n.relation_id > '' RETURN n
  }
  WHEN $label = 'RelationType' THEN {
    MATCH (n:RelationType) USING INDEX SEEK n:RelationType(ontology, type_id)
    WHERE n.ontology = $ontology AND n.type_id > '' RETURN n
  }
}
WITH n
WHERE n[$mark_property] STARTS WITH $refused
SET n[$mark_property] = null, n[$refusal_property] = null,
    n.unembedded = CASE $label WHEN 'Source' THEN true ELSE n.unembedded END
RETURN count(n) AS retried
