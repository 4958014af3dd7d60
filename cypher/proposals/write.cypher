// Links that are proposed. Of a pair that was decided nothing changes, but that it gets its ends again when they had gone,
// and its link where it was accepted. Whoever asks has locked both ends.
UNWIND $rows AS row
OPTIONAL MATCH (sa:Source {source_id: row.first})
OPTIONAL MATCH (ca:Concept {concept_id: row.first})
OPTIONAL MATCH (sb:Source {source_id: row.second})
OPTIONAL MATCH (cb:Concept {concept_id: row.second})
WITH row, coalesce(sa, ca) AS a, coalesce(sb, cb) AS b
WHERE a IS NOT NULL AND b IS NOT NULL
MERGE (p:Proposal {proposal_id: row.proposal_id})
ON CREATE SET p.ontology = $ontology, p.kind = row.kind, p.state = 'open', p.created_at = datetime.realtime()
SET p.looked_at = datetime.realtime()
WITH row, a, b, p, COUNT { (p)-[:PROPOSES]->() } < 2 AS loose
FOREACH (_ IN CASE WHEN p.state = 'open' OR loose THEN [1] ELSE [] END |
  SET p.score = row.score, p.similarity = row.similarity, p.reason = row.reason)
FOREACH (_ IN CASE WHEN loose THEN [1] ELSE [] END |
  MERGE (p)-[first:PROPOSES {place: 0}]->(a)
  MERGE (p)-[second:PROPOSES {place: 1}]->(b)
  SET first.start = row.first_start, first.end = row.first_end, second.start = row.second_start,
      second.end = row.second_end)
FOREACH (_ IN CASE WHEN loose AND p.state = 'accepted' THEN [1] ELSE [] END |
  MERGE (a)-[link:LINKED_TO {proposal_id: row.proposal_id}]->(b)
  SET link.type = $type, link.confidence = row.similarity, link.by = p.decided_by, link.at = p.decided_at)
RETURN count(p) AS written
