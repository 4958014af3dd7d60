// The sources that say most of what a community is about: by the weights of its first concepts that each carries.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id LIMIT $most_concepts
MATCH (k)-[:APPEARS_IN]->(s:Source)
WITH s, sum(m.weight) AS weight, count(*) AS concepts
WHERE concepts > 1
ORDER BY weight DESC, s.source_id LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text, weight, concepts
ORDER BY weight DESC, source_id
