// Sources that carry a concept no more.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})<-[a:APPEARS_IN]-(c:Concept)
WHERE c.concept_id = row.concept_id
DELETE a
