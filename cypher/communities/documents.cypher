// The documents that say most of what a community is about: by the weights of its first concepts that their sources carry.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id LIMIT $most_concepts
MATCH (k)-[:APPEARS_IN]->(s:Source)
WITH s.document_id AS document_id, k, m, count(DISTINCT s) AS sources
WITH document_id, sum(m.weight) AS weight, count(k) AS concepts, max(sources) AS sources
ORDER BY weight DESC, sources DESC, document_id LIMIT $limit
MATCH (d:Document {document_id: document_id})
RETURN document_id, d.document AS document, d.title AS title, weight, concepts
ORDER BY weight DESC, document_id
