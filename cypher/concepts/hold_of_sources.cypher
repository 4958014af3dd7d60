// Locks sources, and gives the concepts that they carry: none more comes in until the end of the transaction. And of
// which of them they say something.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
SET s.held_at = datetime.realtime()
WITH collect(s) AS held
UNWIND held AS s
MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
RETURN c.ontology AS ontology, c.concept_id AS concept_id,
       count(a.description) + count(a.terms) > 0 AS said
ORDER BY concept_id
