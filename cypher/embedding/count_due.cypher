// How many nodes of an ontology are not embedded as they should be: all that `due` gives, one after the other.
CYPHER 25
OPTIONAL MATCH (o:Ontology {name: $ontology})
WITH $forced_at IS NULL AND coalesce($mark_property + ':' + $mark IN [o.flagged_for, o.unread_for], false) AS flagged
CALL (flagged) {
  WHEN $label = 'Source' AND flagged AND $mark_property = 'extracted_with' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unread, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unread = true
      AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0
    RETURN n
  }
  WHEN $label = 'Source' AND flagged THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unembedded, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unembedded = true
      AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0
    RETURN n
  }
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0 RETURN n
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id > ''
      AND ($wants_all OR coalesce(n[$mark_property], n[$answering_property]) IS NOT NULL OR COUNT { (n)-[:APPEARS_IN]->() } > 1)
    RETURN n
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
WITH n, coalesce(':' + CASE $label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END, '') AS text, n[$mark_property] AS mark
WHERE (mark IS NULL OR NOT mark IN [$mark + text, $refused + text] OR n[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(mark, n[$answering_property]) IS NULL))
RETURN count(n) AS due
