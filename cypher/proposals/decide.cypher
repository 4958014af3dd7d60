// What becomes of a proposal: the link of one that is accepted is there, that of any other is not. Whoever asks has locked
// it, and nobody makes or deletes its link without. By its decision a request knows what it has stored itself.
MATCH (p:Proposal {proposal_id: $proposal_id})
MATCH (p)-[:PROPOSES {place: 0}]->(a)
MATCH (p)-[:PROPOSES {place: 1}]->(b)
OPTIONAL MATCH (a)-[old:LINKED_TO {proposal_id: $proposal_id}]-(b)
SET p.state = $state, p.decided_by = $by, p.decision = $decision, p.decided_at = CASE WHEN $state = 'open' THEN null ELSE datetime.realtime() END
FOREACH (_ IN CASE WHEN old IS NOT NULL AND $state <> 'accepted' THEN [1] ELSE [] END | DELETE old)
FOREACH (_ IN CASE WHEN old IS NULL AND $state = 'accepted' THEN [1] ELSE [] END |
  CREATE (a)-[:LINKED_TO {proposal_id: $proposal_id, type: $type, confidence: p.similarity, by: $by, at: datetime.realtime()}]->(b))
RETURN p.state AS state
