// What is stated of a concept with types that say something for or against it: those of which it is the object, and
// those of which it is the subject, with the sources that state it, the surest first. Only so many relationships of it
// are looked at.
MATCH (c:Concept {concept_id: $concept_id})
CALL (c) {
  MATCH (c)-[r:RELATED_TO]-(o:Concept)
  WITH c, r, o LIMIT $scanned
  WHERE (endNode(r) = c AND r.type_key IN $towards) OR (startNode(r) = c AND r.type_key IN $away)
  RETURN r, o
}
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.type_key AS type_key, r.stated_type AS stated_type, startNode(r) = c AS outgoing,
       r.statement AS statement, r.quote AS quote, r.start AS quote_start, r.end AS quote_end,
       r.confidence AS confidence, s.source_id AS source_id, s.ontology AS ontology, s.document AS document,
       s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end,
       s.page AS page, s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr,
       s.ocr_confidence AS ocr_confidence, s.full_text AS full_text
ORDER BY confidence DESC, relation_id
