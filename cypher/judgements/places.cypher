// What was judged in an ontology, as it is measured: where each passage is, and nothing where its text has changed.
MATCH (j:Judgement)
WHERE j.ontology = $ontology AND j.question_id >= ''
OPTIONAL MATCH (s:Source {source_id: j.source_id})
RETURN j.ontology AS ontology, j.question AS question, j.document AS document, j.relevance AS relevance, s.start AS start,
       s.end AS end
