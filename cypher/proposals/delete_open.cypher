// Proposals that go, unless somebody has decided on them. Whoever asks has locked them.
UNWIND $proposal_ids AS id
MATCH (p:Proposal {proposal_id: id})
WHERE p.state = 'open'
DETACH DELETE p
RETURN count(*) AS deleted
