// Sources carry a concept no more that they carried only through another; where a quote proves it since, it stays.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept {concept_id: $concept_id})
WHERE NOT EXISTS { (c)-[:EVIDENCED_BY]->(:Instance)-[:FROM_SOURCE]->(s) }
DELETE a
