// Some relationships with both concepts, the source that states each, and how many sources state the same. A quote's
// place is counted in its source. The same is looked for among so many relationships between both.
UNWIND $ids AS id
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
USING INDEX SEEK r:RELATED_TO(relation_id)
WHERE r.relation_id = id
WITH a, b, r.type_key AS type_key, collect(r) AS same
CALL (a, b, type_key) {
  MATCH (a)-[m:RELATED_TO]->(b)
  WITH m LIMIT $scanned
  WHERE m.type_key = type_key
  RETURN count(DISTINCT m.source_id) AS stating
}
UNWIND same AS r
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.type AS type, r.stated_type AS stated_type, type_key,
       r.statement AS statement, r.quote AS quote, r.start AS quote_start, r.end AS quote_end,
       r.confidence AS confidence, r.ontology AS ontology, stating,
       a.concept_id AS subject_id, a.label AS subject_label, b.concept_id AS object_id, b.label AS object_label,
       s.source_id AS source_id, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text
