// name: counts
// Count the nodes of each label from Neo4j's count store, without reading data.
CYPHER 25
CALL () { MATCH (n:Ontology) RETURN count(n) AS ontologies }
CALL () { MATCH (n:Document) RETURN count(n) AS documents }
CALL () { MATCH (n:Source) RETURN count(n) AS sources }
CALL () { MATCH (n:Concept) RETURN count(n) AS concepts }
CALL () { MATCH (n:Image) RETURN count(n) AS pictures }
RETURN ontologies, documents, sources, concepts, pictures
