// What sources state of two concepts.
UNWIND $rows AS row
MATCH (a:Concept {concept_id: row.subject})
MATCH (b:Concept {concept_id: row.object})
MERGE (a)-[r:RELATED_TO {relation_id: row.relation_id}]->(b)
SET r.type = row.type, r.confidence = row.confidence, r.source_id = row.source_id,
    r.extracted_with = row.extracted_with
