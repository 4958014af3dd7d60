// What one portion of concepts, in the order of their ids, is near to by the vectors of some spaces is known no more.
MATCH (c:Concept)
WHERE c.concept_id > $after AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.concept_id LIMIT $limit
CALL (c) {
  MATCH (c)-[r:NEAR_TO]->()
  WHERE r.space IN $spaces
  DELETE r
}
RETURN max(c.concept_id) AS last
