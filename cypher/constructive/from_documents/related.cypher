// As `constructive/related`, of concepts with very many relationships, from the other side: of some documents so many
// sources are looked at, and it is told whether these are all.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources
}
RETURN sources <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (a:Concept)-[r:RELATED_TO {source_id: s.source_id}]->(b:Concept)
  USING INDEX r:RELATED_TO(source_id)
  WITH r, a, b WHERE a <> b AND ($types IS NULL OR r.type_key IN $types)
  UNWIND $outgoing AS outgoing
  WITH r, outgoing, CASE WHEN outgoing THEN a ELSE b END AS c, CASE WHEN outgoing THEN b ELSE a END AS o
  WHERE c.concept_id IN $ids
  WITH r, outgoing, c, o ORDER BY r.confidence DESC, r.relation_id
  WITH c, o, outgoing, r.type_key AS type_key, min(r.type) AS type, max(r.confidence) AS confidence,
       count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
  ORDER BY support DESC, confidence DESC, o.concept_id, type_key, outgoing DESC
  WITH c.concept_id AS id,
       collect({id: o.concept_id, kind: 'concept', ontology: o.ontology, outgoing: outgoing, type: type,
                type_key: type_key, support: support, relation_ids: relation_ids}) AS found
  RETURN {of: id, found: found[..$fan_out], number: size(found)}
} AS found
