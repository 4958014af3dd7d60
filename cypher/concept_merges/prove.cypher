// Whether quotes prove some concepts in some sources, after quotes went from one to another.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept)
WHERE c.concept_id IN $ids
SET a.verified = EXISTS { (c)-[:EVIDENCED_BY]->(:Instance)-[:FROM_SOURCE]->(s) }
