// Of pairs of concepts those that nothing connects: no link, no document in which both are, and not so few relationships
// or links. A concept of very many sources connects nothing where it stands in between. Both must have a quote.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
WHERE NOT EXISTS { (a)-[:RELATED_TO|LINKED_TO]-(b) }
  AND ($hops < 2 OR NOT EXISTS {
    MATCH (a)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(b)
    WHERE COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND ($hops < 3 OR NOT EXISTS {
    MATCH (a)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(n:Concept)-[:RELATED_TO|LINKED_TO]-(b)
    WHERE COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (n)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND EXISTS { (a)-[:EVIDENCED_BY]->() } AND EXISTS { (b)-[:EVIDENCED_BY]->() }
CALL (a) {
  MATCH (a)-[:APPEARS_IN]->(s:Source)
  RETURN collect(DISTINCT s.document_id) AS of_a
}
CALL (b) {
  MATCH (b)-[:APPEARS_IN]->(s:Source)
  RETURN collect(DISTINCT s.document_id) AS of_b
}
WITH pair, of_a, of_b
WHERE none(each IN of_a WHERE each IN of_b)
RETURN pair[0] AS first, pair[1] AS second, size(of_a) AS first_documents, size(of_b) AS second_documents
