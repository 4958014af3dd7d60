// How many quotes prove a concept.
MATCH (c:Concept {concept_id: $concept_id})
RETURN COUNT { (c)-[:EVIDENCED_BY]->() } AS quotes
