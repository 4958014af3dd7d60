// Of pairs of sources those that nothing connects: no link, no concept that both carry, and no concepts that so few
// relationships or links connect. A concept of very many sources connects nothing, wherever on the way it stands.
UNWIND $pairs AS pair
MATCH (a:Source {source_id: pair[0]})
MATCH (b:Source {source_id: pair[1]})
WHERE NOT EXISTS { (a)-[:LINKED_TO]-(b) }
  AND NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources
  }
  AND ($hops < 2 OR NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:RELATED_TO|LINKED_TO]-(d:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (d)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND ($hops < 3 OR NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(d:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources
      AND COUNT { (d)-[:APPEARS_IN]->() } <= $most_sources
  })
RETURN pair[0] AS first, pair[1] AS second
