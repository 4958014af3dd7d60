// The questions of an ontology that something was judged for, those that were judged last first.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= ''
WITH j.question_id AS question_id, collect(j) AS judged
WITH question_id, judged, reduce(latest = judged[0].judged_at, each IN judged |
       CASE WHEN each.judged_at > latest THEN each.judged_at ELSE latest END) AS judged_at
RETURN judged[0].question AS question, judged_at, size(judged) AS judgements,
       size([each IN judged WHERE each.relevance > 0]) AS relevant,
       size([each IN judged WHERE NOT EXISTS { (:Source {source_id: each.source_id}) }]) AS gone
ORDER BY judged_at DESC, question_id SKIP $offset LIMIT $limit
