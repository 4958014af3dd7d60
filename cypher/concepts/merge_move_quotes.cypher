// Quotes that prove a concept prove the one that it becomes part of; they keep their ids, for answers cite them.
MATCH (gone:Concept {concept_id: $gone})-[e:EVIDENCED_BY]->(i:Instance)
MATCH (kept:Concept {concept_id: $kept})
MERGE (kept)-[:EVIDENCED_BY]->(i)
DELETE e
