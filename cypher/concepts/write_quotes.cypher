// Quotes that prove concepts, each tied to both its concept and its source.
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
MATCH (s:Source {source_id: row.source_id})
MERGE (i:Instance {instance_id: row.instance_id})
SET i.ontology = $ontology, i.quote = row.quote, i.start = row.start, i.end = row.end, i.score = row.score,
    i.said = row.said, i.extracted_with = row.extracted_with
MERGE (c)-[:EVIDENCED_BY]->(i)
MERGE (i)-[:FROM_SOURCE]->(s)
