// Of an ontology's open proposals those behind the best, locked: somebody may be deciding on one of them, so whoever asks
// looks again at what it is by then.
MATCH (p:Proposal)
WHERE p.ontology = $ontology AND p.state = 'open' AND p.score IS NOT NULL
WITH p ORDER BY p.score DESC, p.proposal_id SKIP $most
WITH p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
RETURN p.proposal_id AS proposal_id
