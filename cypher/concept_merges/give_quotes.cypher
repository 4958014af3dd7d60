// Quotes prove again the concept that they proved before it was merged, as far as they are still there.
UNWIND $ids AS id
MATCH (k:Concept {concept_id: $kept})-[e:EVIDENCED_BY]->(i:Instance {instance_id: id})
MATCH (g:Concept {concept_id: $gone})
MERGE (g)-[:EVIDENCED_BY]->(i)
DELETE e
RETURN i.instance_id AS instance_id
