// Open proposals of these nodes, which were looked at again, unless they hold still; locked, as those are that are weakest.
UNWIND $ids AS id
OPTIONAL MATCH (s:Source {source_id: id})
OPTIONAL MATCH (c:Concept {concept_id: id})
WITH coalesce(s, c) AS n
WHERE n IS NOT NULL
MATCH (n)<-[:PROPOSES]-(p:Proposal {state: 'open'})
WHERE NOT p.proposal_id IN $hold
WITH DISTINCT p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
RETURN p.proposal_id AS proposal_id
