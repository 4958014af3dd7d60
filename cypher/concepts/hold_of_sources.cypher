// Locks sources, and gives the concepts that they carry: none more comes in until the end of the transaction.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
SET s.held_at = datetime.realtime()
WITH collect(s) AS held
UNWIND held AS s
MATCH (s)<-[:APPEARS_IN]-(c:Concept)
RETURN DISTINCT c.ontology AS ontology, c.concept_id AS concept_id
ORDER BY concept_id
