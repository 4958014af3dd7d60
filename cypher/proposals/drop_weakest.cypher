// Of an ontology's open proposals the best stay, so many; how many others were dropped is noted.
MATCH (o:Ontology {name: $ontology})
MATCH (p:Proposal)
WHERE p.ontology = $ontology AND p.state = 'open' AND p.score IS NOT NULL
WITH o, p ORDER BY p.score DESC, p.proposal_id SKIP $most
WITH o, collect(p) AS dropped
SET o.proposals_dropped = CASE WHEN dropped = [] THEN o.proposals_dropped ELSE coalesce(o.proposals_dropped, 0) + size(dropped) END
FOREACH (p IN dropped | DETACH DELETE p)
RETURN size(dropped) AS dropped
