// What somebody has linked some concepts to, and what they are stated to be related to, what most sources state
// first; statements that differ in their source only, or in the case of letters, are one. Of a concept with very many only so many are looked at.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[r:RELATED_TO|LINKED_TO]-(o:Concept)
  WHERE o <> c
  WITH o, r LIMIT $scanned
  WITH o, startNode(r) = c AS outgoing, toLower(r.type) AS folded, min(r.type) AS type,
       max(r.confidence) AS confidence, collect(DISTINCT r.source_id) AS stated, max(type(r) = 'LINKED_TO') AS linked
  ORDER BY linked DESC, size(stated) DESC, confidence DESC, o.concept_id, type, outgoing DESC
  LIMIT $limit
  RETURN o, outgoing, type, confidence, stated, linked
}
RETURN concept_id AS of, outgoing, type, confidence, stated[..$most_sources] AS stated, size(stated) AS support,
       o.concept_id AS concept_id, o.ontology AS ontology, o.label AS label, o.description AS description,
       o.search_terms AS search_terms, COUNT { (o)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (o)-[:EVIDENCED_BY]->() } AS verified
ORDER BY linked DESC, support DESC, confidence DESC, concept_id, type, outgoing DESC, of
