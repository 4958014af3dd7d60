// How some sources were judged for a question.
UNWIND $rows AS row
MATCH (j:Judgement {judgement_id: row.judgement_id})
RETURN row.source_id AS source_id, j.relevance AS relevance
