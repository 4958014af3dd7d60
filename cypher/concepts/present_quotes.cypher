// Which quotes of some sources there are, and of what concepts.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[:FROM_SOURCE]-(i:Instance)<-[:EVIDENCED_BY]-(c:Concept)
RETURN s.source_id AS source_id, c.concept_id AS concept_id, i.instance_id AS instance_id, i.start AS start,
       i.end AS end, i.quote AS quote, i.score AS score, i.said AS said, i.extracted_with AS extracted_with
