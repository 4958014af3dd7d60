// Names that nothing was called by before.
UNWIND $rows AS row
MATCH (n:ConceptName {name_id: row.name_id})
MATCH (c:Concept {concept_id: row.concept_id})
MERGE (n)-[:NAMES]->(c)
