// As `104_relation_texts`, which may have ended early: the next portion of relationships that it has left, with
// the quotes of both concepts in the source that states them; no text: it has gone.
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
WHERE r.relation_id > $after AND r.ontology IS NULL
WITH a, r, b ORDER BY r.relation_id LIMIT 1000
OPTIONAL MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       a.ontology AS ontology, r.type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with,
       a.label AS subject_label, b.label AS object_label, s.full_text AS full_text,
       COLLECT { MATCH (a)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS subject_quotes,
       COLLECT { MATCH (b)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN [i.start, i.end] } AS object_quotes
ORDER BY relation_id
