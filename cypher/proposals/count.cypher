// How many proposals of an ontology, or of all, are in each state.
MATCH (p:Proposal)
WHERE ($ontology IS NULL OR p.ontology = $ontology) AND ($kind IS NULL OR p.kind = $kind)
  AND EXISTS { (p)-[:PROPOSES]->() }
RETURN p.state AS state, count(p) AS proposals
