// The links between some sources that somebody accepted.
UNWIND $source_ids AS id
MATCH (a:Source {source_id: id})-[l:LINKED_TO]->(b:Source)
WHERE b.source_id IN $source_ids
RETURN a.source_id AS a, b.source_id AS b, l.proposal_id AS proposal_id, l.confidence AS similarity
ORDER BY similarity DESC, a, b
