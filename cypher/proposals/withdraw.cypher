// Open proposals of these nodes, which were looked at again, go unless they hold still.
UNWIND $ids AS id
OPTIONAL MATCH (s:Source {source_id: id})
OPTIONAL MATCH (c:Concept {concept_id: id})
WITH coalesce(s, c) AS n
WHERE n IS NOT NULL
MATCH (n)<-[:PROPOSES]-(p:Proposal {state: 'open'})
WHERE NOT p.proposal_id IN $hold
WITH DISTINCT p
DETACH DELETE p
RETURN count(*) AS withdrawn
