// How far extraction from an ontology is by an extractor's mark, or by any where it is null, and what there is of all its concepts.
CALL () {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  RETURN count(s) AS total,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NULL THEN 1 ELSE 0 END) AS extracted,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NOT NULL THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) THEN coalesce(s.unverified_quotes, 0) ELSE 0 END) AS unverified_quotes
}
CALL () {
  MATCH (c:Concept)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(c) AS concepts, sum(CASE WHEN EXISTS { (c)-[:EVIDENCED_BY]->() } THEN 0 ELSE 1 END) AS unverified_concepts
}
CALL () {
  MATCH (c:Concept)-[:EVIDENCED_BY]->(i:Instance)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(i) AS quotes
}
CALL () {
  MATCH (c:Concept)-[r:RELATED_TO]->()
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(r) AS relations
}
RETURN total, extracted, refused, concepts, quotes, relations, unverified_quotes, unverified_concepts
