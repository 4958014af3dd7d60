// How large an ontology is: concepts, relationships, sources; and how many sources are of documents that were written since.
CALL () {
  MATCH (c:Concept)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(c) AS concepts
}
CALL () {
  MATCH ()-[r:RELATED_TO]->()
  WHERE r.ontology = $ontology AND r.relation_id > ''
  RETURN count(r) AS relationships
}
CALL () {
  MATCH (d:Document)
  WHERE d.ontology = $ontology AND d.document >= ''
  RETURN coalesce(sum(d.sources), 0) AS sources,
         coalesce(sum(CASE WHEN d.updated_at > $since THEN d.sources END), 0) AS written
}
RETURN concepts, relationships, sources, written, datetime.realtime() AS at
