// What some names mean, of those that mean something.
UNWIND $name_ids AS id
MATCH (n:ConceptName {name_id: id})-[:NAMES]->(c:Concept)
RETURN n.name_id AS name_id, c.concept_id AS concept_id
