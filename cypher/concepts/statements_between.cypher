// What is stated of pairs of concepts, or was linked by somebody, in either direction, what most sources state first.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
CALL (a, b) {
  MATCH (a)-[r:RELATED_TO|LINKED_TO]-(b)
  WITH a, b, r LIMIT $scanned
  WITH startNode(r) = a AS forward, toLower(r.type) AS folded, min(r.type) AS type,
       max(r.confidence) AS confidence, collect(DISTINCT r.source_id) AS stated
  RETURN forward, type, stated
  ORDER BY size(stated) DESC, confidence DESC, type, forward DESC
  LIMIT 1
}
RETURN pair[0] AS first, pair[1] AS second, forward, type, stated[..$most_sources] AS stated, size(stated) AS support
