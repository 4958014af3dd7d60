// The proposals of an ontology by what became of them, in the order of their scores: so they are listed, and the weakest are dropped.
CREATE INDEX proposal_by_score IF NOT EXISTS FOR (p:Proposal) ON (p.ontology, p.state, p.score)
