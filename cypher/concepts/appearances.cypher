// The sources that carry a concept, those with a true quote first, each with the quotes that it has of it.
MATCH (c:Concept {concept_id: $concept_id})-[a:APPEARS_IN]->(s:Source)
WITH c, a, s ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, s.document, s.document_id, s.paragraph
LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text,
       COLLECT {
         MATCH (s)<-[:FROM_SOURCE]-(i:Instance)<-[:EVIDENCED_BY]-(c)
         RETURN i {.instance_id, .quote, .start, .end, .score} ORDER BY i.start, i.instance_id
       } AS quotes,
       coalesce(a.unverified, []) AS unverified
ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, document, document_id, paragraph
