// Of some sources the community of the coarsest level that their concepts are most of, of the generation that is shown.
UNWIND $source_ids AS id
MATCH (o:Ontology {name: $ontology})
MATCH (s:Source {source_id: id})
MATCH (s)<-[:APPEARS_IN]-(:Concept)-[m:MEMBER_OF]->(c:Community)
WHERE c.ontology = o.name AND c.generation = o.communities_generation AND c.level = 0
WITH s, c, sum(m.weight) AS weight ORDER BY weight DESC, c.community_id
RETURN s.source_id AS source_id, collect(c.community_id)[0] AS community_id
ORDER BY source_id
