// Links of a concept that somebody accepted, locked, with the concepts that they lead to.
MATCH (c:Concept {concept_id: $concept_id})<-[:PROPOSES]-(p:Proposal)
WITH DISTINCT c, p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
WITH c, p
WHERE p.state = 'accepted'
MATCH (p)-[:PROPOSES]->(other:Concept)
WHERE other <> c
RETURN p.proposal_id AS proposal_id, other.concept_id AS other
