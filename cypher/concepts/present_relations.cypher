// What some sources state of concepts, as they say it.
UNWIND $source_ids AS id
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
USING INDEX r:RELATED_TO(source_id)
WHERE r.source_id = id
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       r.stated_type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with,
       r.statement AS statement, r.quote AS quote, r.start AS start, r.end AS end
