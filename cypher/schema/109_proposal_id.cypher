// A link is proposed once: a pair that was rejected is known again by this.
CREATE CONSTRAINT proposal_id IF NOT EXISTS FOR (p:Proposal) REQUIRE p.proposal_id IS UNIQUE
