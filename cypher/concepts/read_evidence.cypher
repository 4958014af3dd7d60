// The quotes that prove a concept, the surest first, each with its source; a quote's place is counted in its source.
MATCH (c:Concept {concept_id: $concept_id})-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
WITH i, s ORDER BY i.score DESC, s.document, s.document_id, s.paragraph, i.start, i.instance_id
LIMIT $limit
RETURN i.instance_id AS instance_id, i.quote AS quote, i.start AS quote_start, i.end AS quote_end, i.score AS score,
       s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text
