// A proposal, locked; with its ends, of which there may be none any more.
MATCH (p:Proposal {proposal_id: $proposal_id})
WHERE $ontologies IS NULL OR p.ontology IN $ontologies
SET p.held_at = datetime.realtime()
RETURN p.state AS state, p.decided_by AS by, p.decision AS decision, p.kind AS kind, COUNT { (p)-[:PROPOSES]->() } AS ends
