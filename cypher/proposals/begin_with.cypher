// Proposals whose id begins so; more than one is no answer.
MATCH (p:Proposal)
WHERE p.proposal_id STARTS WITH $prefix AND ($ontologies IS NULL OR p.ontology IN $ontologies)
  AND EXISTS { (p)-[:PROPOSES]->() }
RETURN p.proposal_id AS proposal_id
ORDER BY proposal_id
LIMIT $limit
