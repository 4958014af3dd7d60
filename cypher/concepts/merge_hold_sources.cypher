// Locks the sources that carry a concept, and gives the concepts that it is related to: writers lock sources first,
// then concepts. Found by an index that is not unique: entries of unique ones would be locked, too (see hold).
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id = $gone
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH s ORDER BY s.source_id
  SET s.held_at = datetime.realtime()
  RETURN count(s) AS sources
}
RETURN sources, COLLECT { MATCH (c)-[:RELATED_TO|LINKED_TO]-(o:Concept) RETURN DISTINCT o.concept_id } AS related
