// name: counts
// What the database holds, by its own counts of labels: nothing is read.
CYPHER 25
CALL () { MATCH (n:Ontology) RETURN count(n) AS ontologies }
CALL () { MATCH (n:Document) RETURN count(n) AS documents }
CALL () { MATCH (n:Source) RETURN count(n) AS sources }
CALL () { MATCH (n:Concept) RETURN count(n) AS concepts }
CALL () { MATCH (n:Image) RETURN count(n) AS pictures }
RETURN ontologies, documents, sources, concepts, pictures
