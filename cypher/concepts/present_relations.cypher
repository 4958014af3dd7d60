// What some sources state of concepts.
UNWIND $source_ids AS id
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
USING INDEX r:RELATED_TO(source_id)
WHERE r.source_id = id
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       r.type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with
