// Proposals of one concept become those of another, under the id of the pair that they are of then, with their links; of one
// that has no ends any more only the id. Not where the two are linked, or somebody has decided on them. Gives those that went.
UNWIND $rows AS row
MATCH (p:Proposal {proposal_id: row.proposal_id})
MATCH (from:Concept {concept_id: $from})
MATCH (to:Concept {concept_id: $to})
OPTIONAL MATCH (p)-[end:PROPOSES]->(from)
OPTIONAL MATCH (p)-[:PROPOSES]->(other:Concept {concept_id: row.other})
OPTIONAL MATCH (from)-[own:LINKED_TO {proposal_id: row.proposal_id}]-(other)
OPTIONAL MATCH (there:Proposal {proposal_id: row.becomes})
SET there.held_at = datetime.realtime()
WITH row, p, end, to, other, own, there
WHERE coalesce(other <> to AND NOT EXISTS { (to)-[:LINKED_TO]-(other) }, true) AND coalesce(there.state, 'open') = 'open'
FOREACH (old IN CASE WHEN there IS NULL THEN [] ELSE [there] END | DETACH DELETE old)
SET p.proposal_id = row.becomes
FOREACH (old IN CASE WHEN end IS NULL THEN [] ELSE [end] END |
  CREATE (p)-[:PROPOSES {place: old.place}]->(to)
  DELETE old)
FOREACH (old IN CASE WHEN own IS NULL THEN [] ELSE [own] END |
  CREATE (to)-[link:LINKED_TO]->(other)
  SET link = properties(old), link.proposal_id = row.becomes
  DELETE old)
RETURN row.proposal_id AS proposal_id, row.becomes AS becomes, row.other AS other
