// The quotes of two concepts: where they stand, and what they are worth.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
RETURN c.concept_id AS concept_id, i.instance_id AS instance_id, s.source_id AS source_id, i.start AS start,
       i.end AS end, i.score AS score, i.extracted_with AS extracted_with
ORDER BY instance_id
