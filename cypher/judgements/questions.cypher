// The questions of an ontology that something was judged for, those that were judged last first.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= ''
WITH j.question_id AS question_id, min(j.question) AS question, max(j.judged_at) AS judged_at, count(*) AS judgements,
     sum(CASE WHEN j.relevance > 0 THEN 1 ELSE 0 END) AS relevant
ORDER BY judged_at DESC, question_id SKIP $offset LIMIT $limit
RETURN question, judged_at, judgements, relevant,
       COUNT {
         MATCH (g:Judgement)
         WHERE g.ontology = $ontology AND g.question_id = question_id AND NOT EXISTS { (:Source {source_id: g.source_id}) }
       } AS gone
ORDER BY judged_at DESC, question_id
