// Nodes that answer as they are embedded now, and would not as they shall be: not built yet, or refused.
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
WITH n[$answering_property] AS answering, coalesce(n[$mark_property], '') AS mark
WHERE answering IS NOT NULL AND NOT answering STARTS WITH 'refused:' AND NOT mark STARTS WITH $mark
RETURN count(CASE WHEN NOT mark STARTS WITH $refused THEN 1 END) AS behind,
       count(CASE WHEN mark STARTS WITH $refused THEN 1 END) AS refused
