// How many proposals of some ontologies, or of all, are in each state.
MATCH (p:Proposal)
WHERE ($ontologies IS NULL OR p.ontology IN $ontologies) AND ($kind IS NULL OR p.kind = $kind)
  AND EXISTS { (p)-[:PROPOSES]->() }
RETURN p.state AS state, count(p) AS proposals
