// Makes names that are new, in the order of their ids: whoever else makes one now waits, so that two extractions make
// one concept of it. Gives the concepts that those mean which were made meanwhile.
UNWIND $rows AS row
MERGE (n:ConceptName {name_id: row.name_id})
ON CREATE SET n.ontology = $ontology, n.name = row.name
WITH n
MATCH (n)-[:NAMES]->(c:Concept)
RETURN n.name_id AS name_id, c.concept_id AS concept_id
