// What some concepts are stated to be related to, in some directions, of some types and by some documents only; what
// most sources state first, at most so many of each. Of a concept with very many relationships so many are looked at;
// beside documents none, for these lead to it.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH id, c, COUNT { (c)-[:RELATED_TO]-() } > $scanned AS hub
CALL (c, hub) {
  WITH c WHERE $document_ids IS NULL OR NOT hub
  MATCH (c)-[r:RELATED_TO]-(o:Concept)
  WITH c, r, o LIMIT $scanned
  WITH c, r, o, startNode(r) = c AS outgoing
  WHERE o <> c AND outgoing IN $outgoing
    AND ($types IS NULL OR r.type_key IN $types)
    AND ($document_ids IS NULL
         OR EXISTS { MATCH (s:Source {source_id: r.source_id}) WHERE s.document_id IN $document_ids })
  WITH r, o, outgoing ORDER BY r.confidence DESC, r.relation_id
  WITH o, outgoing, r.type_key AS type_key, min(r.type) AS type, max(r.confidence) AS confidence,
       count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
  ORDER BY support DESC, confidence DESC, o.concept_id, type_key, outgoing DESC
  WITH collect({id: o.concept_id, kind: 'concept', ontology: o.ontology, outgoing: outgoing, type: type,
                type_key: type_key, support: support, relation_ids: relation_ids}) AS found
  RETURN found[..$fan_out] AS found, size(found) AS number
}
RETURN id AS of, found, number, hub
