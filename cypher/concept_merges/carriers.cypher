// The sources that carry a concept, and its names.
MATCH (c:Concept {concept_id: $concept_id})
RETURN COLLECT { MATCH (c)-[:APPEARS_IN]->(s:Source) RETURN s.source_id ORDER BY s.source_id } AS source_ids,
       COLLECT { MATCH (n:ConceptName)-[:NAMES]->(c) RETURN n {.name_id, .name} } AS names
