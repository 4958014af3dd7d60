// Names mean again what they meant before concepts were merged.
UNWIND $rows AS row
MERGE (n:ConceptName {name_id: row.name_id})
ON CREATE SET n.ontology = $ontology, n.name = row.name
WITH n
OPTIONAL MATCH (n)-[means:NAMES]->(:Concept)
DELETE means
WITH DISTINCT n
MATCH (c:Concept {concept_id: $concept_id})
MERGE (n)-[:NAMES]->(c)
